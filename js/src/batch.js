// Batches: a header and reports, as they are sent. `docs/wire-format.md` gives the layout.

import { fromHex } from "./hex.js";

/**
 * What comes before the report in a batch of one.
 * @param {string} fingerprint
 */
export const headerOfOne = (fingerprint) => fromHex(`4c445031${fingerprint.slice(0, 32)}01000000`); // LDP1, plan, 1
