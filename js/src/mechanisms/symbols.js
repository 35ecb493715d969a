// Randomized response over a few symbols: the true one with probability truth/2^64, otherwise any of them.

import { expBelow, ONE, roundedDown } from "../exact.js";
import { halves } from "../random.js";
import { WHOLE } from "./mechanism.js";

/** @typedef {import("./mechanism.js").Ratio} Ratio */
/** @typedef {import("./mechanism.js").Words} Words */

/**
 * The largest `truth` that is private: (e^epsilon - 1) / (e^epsilon + g - 1), rounded down.
 * @param {number} symbols g
 * @param {number} epsilon
 * @param {bigint} [after] the truth, out of 2^64, of a response that came before: then both together are private
 */
export function privateTruth(symbols, epsilon, after = WHOLE) {
  const e = expBelow(epsilon);
  return roundedDown((e - ONE) * WHOLE, (e + BigInt(symbols - 1) * ONE) * after);
}

/**
 * e^epsilon as realised: 1 + g t/(1 - t).
 * @param {number} symbols
 * @param {bigint} truth
 * @param {bigint} whole what truth is out of
 * @returns {Ratio}
 */
export const symbolRatio = (symbols, truth, whole = WHOLE) => [whole - truth + BigInt(symbols) * truth, whole - truth];

/**
 * A function that draws the reported symbol for a true one. It draws the same words whatever the symbol is.
 * @param {number} symbols
 * @param {bigint} truth
 */
export function response(symbols, truth) {
  const threshold = halves(truth);
  return (/** @type {number} */ symbol, /** @type {Words} */ words) => {
    const truthful = words.event(threshold);
    const other = words.below(symbols);
    return (other ^ (-truthful & (other ^ symbol))) >>> 0;
  };
}
