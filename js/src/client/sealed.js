// Bytes with a checksum, so that damage is noticed: a name of 8 characters, the content, and the SHA-256 of both.

import { toHex } from "../hex.js";
import { joined, sha256 } from "../sha256.js";

const NAME_BYTES = 8;
const CHECKSUM_BYTES = 32;

/**
 * @param {string} name 8 characters that say what the content is
 * @param {...Uint8Array} parts of the content
 */
export function sealed(name, ...parts) {
  const content = joined(new TextEncoder().encode(name), ...parts);
  return joined(content, sha256(content));
}

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {DataView | undefined} the content, or undefined if a single bit is not as it was written
 */
export function unsealed(name, bytes) {
  const length = bytes.length - CHECKSUM_BYTES;
  if (length < NAME_BYTES || new TextDecoder().decode(bytes.subarray(0, NAME_BYTES)) !== name) return undefined;
  if (toHex(sha256(bytes.subarray(0, length))) !== toHex(bytes.subarray(length))) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset + NAME_BYTES, length - NAME_BYTES);
}
