// What every mechanism gives, and what a plan asks of it.
//
// Names that begin with an underscore are for this module alone: the build makes them shorter. Names without one are those
// of plans and of what people import.

/**
 * What a plan says.
 * @typedef {object} Asked
 * @property {number} size the number of items
 * @property {number} epsilon
 * @property {number} once the budget of one report alone; it is epsilon where the plan does not say it
 * @property {number} answers of dbit
 * @property {number} [ordered] how many of the items have an order, of plans with a scale
 * @property {number} setSize the number of items that a user may hold, of plans with sets
 */

/**
 * @template [Held=number] what a user holds: the index of an item, or the ascending indices of a set
 * @typedef {object} Mechanism
 * @property {Record<string, number | string | bigint>} _parameters what the plan must have under this name, derived again
 * @property {number} _bits the length of a report
 * @property {number} [_rounds] of drawing, one after the other
 * @property {Ratio} _ratio the largest ratio of the probabilities of one permanent response under two values: e^epsilon
 * @property {Ratio} [_ratioOnce] the same for one report of a chain
 * @property {(held: Held, words: Words) => Uint8Array<ArrayBuffer>} _permanent the permanent response to what is held
 * @property {(response: Uint8Array, words: Words) => Uint8Array<ArrayBuffer>} [_again] a report of a chain
 * @property {(report: Uint8Array) => void} [_check] refuse what no client makes, once the unused bits are checked
 */

/** @typedef {import("../exact.js").Ratio} Ratio */
/** @typedef {import("../random.js").Words} Words */

export const WHOLE = 1n << 64n;

/**
 * What one user tells about an item: (p - q)^2/(q (1 - q)), the reciprocal of the variance.
 * @param {bigint} p how often a report supports the held item, out of `whole`
 * @param {bigint} q how often it supports another item
 * @param {bigint} whole
 * @returns {Ratio}
 */
export const precision = (p, q, whole) => (p > q ? [(p - q) ** 2n, q * (whole - q)] : [0n, 1n]);

export const ONCE_TOO_LARGE = "once is too large";
