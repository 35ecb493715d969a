// What a device keeps, as bytes: its secret, and a keyed digest for everything that it has paid for. They are the bytes of
// the Python client (see "Keys and files" in docs/client.md):
//
//     offset  bytes  content
//     0       8      "LDPDEV1\n"
//     8       8      the generation: 1 for a new device, and one more with every change
//     16      32     the secret of the device
//     48      4      the number of entries k
//     52      24 k   for each entry a digest (16 bytes) and the epsilon that was paid (a float of 8 bytes)
//     ..      32     the SHA-256 of everything before
//
// Numbers are little-endian. Values are not in it, only digests of them.

import { fromHex, toHex } from "../hex.js";
import { DIGEST_BYTES, ENTRY_BYTES, HEADER_BYTES, SECRET_BYTES } from "../numbers.js";
import { sealed, unsealed } from "./sealed.js";

const NAME = "LDPDEV1\n";

/**
 * The secret of a device, and the epsilon that was paid for each digest (in hex).
 * @typedef {{ _generation: bigint, _secret: Uint8Array, _paid: Map<string, number> }} Payments
 */

/**
 * A device that has paid for nothing yet, with a secret from the operating system.
 * @returns {Payments}
 */
export const newDevice = () => ({ _generation: 0n, _secret: crypto.getRandomValues(new Uint8Array(SECRET_BYTES)), _paid: new Map() });

/** @param {Payments} payments */
export function written({ _generation: generation, _secret: secret, _paid: paid }) {
  const content = new DataView(new ArrayBuffer(HEADER_BYTES + paid.size * ENTRY_BYTES));
  const bytes = new Uint8Array(content.buffer);
  content.setBigUint64(0, generation, true);
  bytes.set(secret, 8);
  content.setUint32(40, paid.size, true);
  let at = HEADER_BYTES;
  for (const [digest, epsilon] of paid) {
    bytes.set(fromHex(digest), at);
    content.setFloat64(at + DIGEST_BYTES, epsilon, true);
    at += ENTRY_BYTES;
  }
  return sealed(NAME, bytes);
}

/**
 * @param {Uint8Array} bytes
 * @returns {Payments | undefined} undefined if the bytes are not as they were written
 */
export function read(bytes) {
  const content = unsealed(NAME, bytes);
  if (!content || content.length < HEADER_BYTES) return undefined;
  const numbers = new DataView(content.buffer);
  const count = numbers.getUint32(40, true);
  if (content.length !== HEADER_BYTES + count * ENTRY_BYTES) return undefined;
  /** @type {Map<string, number>} */
  const paid = new Map();
  for (let at = HEADER_BYTES; at < content.length; at += ENTRY_BYTES) {
    paid.set(toHex(content.slice(at, at + DIGEST_BYTES)), numbers.getFloat64(at + DIGEST_BYTES, true));
  }
  if (paid.size !== count || ![...paid.values()].every((epsilon) => epsilon > 0 && epsilon < Infinity)) return undefined;
  return { _generation: numbers.getBigUint64(0, true), _secret: content.slice(8, 8 + SECRET_BYTES), _paid: paid };
}
