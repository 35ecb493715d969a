// Batches: a header and reports, as they are sent. `docs/wire-format.md` gives the layout.

import { fromHex } from "./hex.js";

/**
 * What comes before the report in a batch of one.
 * @param {string} fingerprint
 */
export const headerOfOne = (fingerprint) => fromHex(`${LDP1}${fingerprint.slice(0, 32)}01000000`);

const LDP1 = "4c445031"; // these letters, in hex
