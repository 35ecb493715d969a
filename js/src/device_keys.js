// Keys and digests of one device under one plan, derived from the secret of the device:
//
//     F(label, value) = HMAC-SHA-256(secret, label, 0x00, fingerprint (32 bytes), index (8 bytes, little-endian))
//
// The permanent response to a value is drawn from the keystream of the first 16 bytes of F("localdp permanent/1",
// value), so that it is always the same without being stored. The first 16 bytes of F("localdp spent/1", value) are
// recorded when the value is paid for. The Python client derives the same bytes.

import { InvalidInputError } from "./errors.js";
import { fromHex } from "./hex.js";
import { hmac, joined } from "./sha256.js";

/**
 * @param {Uint8Array} secret 32 random bytes that this device keeps to itself
 * @param {string} fingerprint of the plan, in hex
 */
export function deviceKeys(secret, fingerprint) {
  if (secret.length !== 32) throw new InvalidInputError(`the secret of a device has 32 bytes, not ${secret.length}`);
  const plan = fromHex(fingerprint);
  /**
   * @param {string} label
   * @param {number} index
   */
  const derived = (label, index) => {
    const message = new Uint8Array(8);
    new DataView(message.buffer).setBigUint64(0, BigInt(index), true);
    return hmac(secret, joined(new TextEncoder().encode(`localdp ${label}/1\0`), plan, message)).slice(0, 16);
  };
  return {
    /** The key of the keystream that the permanent response to this item is drawn from. */
    key: (/** @type {number} */ index) => derived("permanent", index),
    /** What is recorded when this item is paid for. */
    digest: (/** @type {number} */ index) => derived("spent", index),
  };
}
