// Randomized response over a few symbols: the true one with probability truth/2^64, otherwise any of them.

import { expBelow, ONE, roundedDown } from "../exact.js";
import { halves } from "../random.js";
import { WHOLE } from "./mechanism.js";

/** @typedef {import("./mechanism.js").Ratio} Ratio */
/** @typedef {import("./mechanism.js").Words} Words */

/**
 * The largest `truth` that is private: (e^epsilon - 1) / (e^epsilon - 1 + g), rounded down. For a symbol that was drawn
 * from a set of l different ones it is l (e^epsilon - 1) / (l (e^epsilon - 1) + g).
 * @param {number} symbols g
 * @param {number} epsilon
 * @param {bigint} [after] the truth, out of 2^64, of a response that came before: then both together are private
 * @param {number} [setSize] l
 */
export function privateTruth(symbols, epsilon, after = WHOLE, setSize = 1) {
  const more = BigInt(setSize) * (expBelow(epsilon) - ONE);
  return roundedDown(more * WHOLE, (more + BigInt(symbols) * ONE) * after);
}

/**
 * e^epsilon as realised: 1 + g t/(1 - t)/l.
 * @param {number} symbols
 * @param {bigint} truth
 * @param {bigint} whole what truth is out of
 * @param {number} [setSize] l
 * @returns {Ratio}
 */
export function symbolRatio(symbols, truth, whole = WHOLE, setSize = 1) {
  const other = BigInt(setSize) * (whole - truth);
  return [other + BigInt(symbols) * truth, other];
}

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
