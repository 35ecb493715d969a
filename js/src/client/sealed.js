// Bytes with a checksum, so that damage is noticed: a name of 8 characters, the content, and the SHA-256 of both.

import { utf8 } from "../hex.js";
import { CHECKSUM_BYTES, NAME_BYTES } from "../numbers.js";
import { joined, sha256 } from "../sha256.js";

/**
 * @param {string} name 8 characters that say what the content is
 * @param {Uint8Array} content
 */
export function sealed(name, content) {
  const named = joined(utf8(name), content);
  return joined(named, sha256(named));
}

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {Uint8Array<ArrayBuffer> | undefined} a copy of the content, or undefined if a single bit is not as it was written
 */
export function unsealed(name, bytes) {
  const content = Uint8Array.from(bytes).slice(NAME_BYTES, -CHECKSUM_BYTES);
  return sealed(name, content).every((byte, i) => byte === bytes[i]) ? content : undefined;
}

/**
 * A value that JSON can hold, sealed.
 * @param {string} name
 * @param {unknown} value
 */
export const sealedJson = (name, value) => sealed(name, utf8(JSON.stringify(value)));

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {any} what was sealed, or undefined if a single bit is not as it was written
 */
export function unsealedJson(name, bytes) {
  const content = unsealed(name, bytes);
  return content && JSON.parse(new TextDecoder().decode(content));
}
