// Keys and digests of one device under one plan, derived from the secret of the device:
//
//     F(label, value) = HMAC-SHA-256(secret, label, 0x00, fingerprint (32 bytes), index (8 bytes, little-endian))
//
// If users hold sets, the indices of all items come one after the other, in ascending order.
//
// The permanent response to a value is drawn from the keystream of the first 16 bytes of F("localdp permanent/1",
// value), so that it is always the same without being stored. The first 16 bytes of F("localdp spent/1", value) are
// recorded when the value is paid for. The Python client derives the same bytes.

import { InvalidInputError } from "./errors.js";
import { fromHex } from "./hex.js";
import { hmac, joined } from "./sha256.js";

/** @typedef {import("./plan.js").Held} Held */

/**
 * @param {Uint8Array} secret 32 random bytes that this device keeps to itself
 * @param {string} fingerprint of the plan, in hex
 */
export function deviceKeys(secret, fingerprint) {
  if (secret.length !== 32) throw new InvalidInputError(`the secret of a device has 32 bytes, not ${secret.length}`);
  const plan = fromHex(fingerprint);
  /**
   * @param {string} label
   * @param {Held} held
   */
  const derived = (label, held) => {
    const indices = [held].flat();
    const message = new DataView(new ArrayBuffer(8 * indices.length));
    indices.forEach((index, i) => message.setBigUint64(8 * i, BigInt(index), true));
    const parts = [new TextEncoder().encode(`localdp ${label}/1\0`), plan, new Uint8Array(message.buffer)];
    return hmac(secret, joined(...parts)).slice(0, 16);
  };
  return {
    /** The key of the keystream that the permanent response to what is held is drawn from. */
    key: (/** @type {Held} */ held) => derived("permanent", held),
    /** What is recorded when it is paid for. */
    digest: (/** @type {Held} */ held) => derived("spent", held),
  };
}
