// Keys and digests of one device under one plan, derived from the secret of the device:
//
//     F(label, value) = HMAC-SHA-256(secret, label, 0x00, fingerprint (32 bytes), index (8 bytes, little-endian))
//
// If users hold sets, the indices of all items come one after the other, in ascending order.
//
// The permanent response to a value is drawn from the keystream of the first 16 bytes of F("localdp permanent/1",
// value), so that it is always the same without being stored. The first 16 bytes of F("localdp spent/1", value) are
// recorded when the value is paid for. The Python client derives the same bytes.
//
// In a study of several parts, the fingerprint is that of the study. The key of the one answer is for the fingerprint of the part's
// document and the indices, the digest of its payment for what the study is called, and the place and the upload id are
// for nothing.

import { InvalidInputError } from "./errors.js";
import { fromHex, utf8 } from "./hex.js";
import { hmac, joined } from "./sha256.js";

/** @typedef {import("./plan.js").Held} Held */

/**
 * @param {Uint8Array} secret 32 random bytes that this device keeps to itself
 * @param {string} fingerprint of the plan or of the study, in hex
 */
export function deviceKeys(secret, fingerprint) {
  if (secret.length !== 32) throw new InvalidInputError("the secret of a device has 32 bytes");
  const plan = fromHex(fingerprint);
  /**
   * @param {string} label
   * @param {...Uint8Array} message
   */
  const derived = (label, ...message) => hmac(secret, joined(utf8(`localdp ${label}/1\0`), plan, ...message)).slice(0, 16);
  return {
    /** The key of the keystream that the response to what is held is drawn from; in a study, under the document of a part. */
    key: (/** @type {Held} */ held, part = "") => derived("permanent", fromHex(part), asNumbers(held)),
    /** What is recorded when it is paid for: what is held, or in a study what the study is called. */
    digest: (/** @type {Held | string} */ held) => derived("spent", typeof held === "string" ? utf8(held) : asNumbers(held)),
    /** The key of the place in a study. */
    place: (/** @type {string} */ label) => derived(label),
    /** The upload id of the one answer in a study. */
    uploadId: () => derived("upload"),
  };
}

/** @param {Held} held */
function asNumbers(held) {
  const indices = [held].flat();
  const message = new DataView(new ArrayBuffer(8 * indices.length));
  indices.forEach((index, i) => message.setBigUint64(8 * i, BigInt(index), true));
  return new Uint8Array(message.buffer);
}
