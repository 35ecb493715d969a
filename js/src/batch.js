// Batches: a header and reports, as they are sent. `docs/wire-format.md` gives the layout.

import { fromHex } from "./hex.js";
import { joined } from "./sha256.js";

const MAGIC = Uint8Array.of(76, 68, 80, 49); // LDP1

/**
 * What comes before the report in a batch of one.
 * @param {string} fingerprint
 */
export const headerOfOne = (fingerprint) =>
  joined(MAGIC, fromHex(fingerprint).subarray(0, 16), Uint8Array.of(1, 0, 0, 0));
