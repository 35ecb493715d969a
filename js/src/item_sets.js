// The set of items that a user holds, as indices in ascending order, each of them once.

import { InvalidInputError } from "./errors.js";

/**
 * The indices of the items that people pass in: a list, a Set or anything else that is iterable.
 * @param {any} items
 * @param {import("./domain.js").Domain} domain
 */
export function readSet(items, domain) {
  if (typeof items === "string" || !items?.[Symbol.iterator]) {
    throw new InvalidInputError('a value is a list of items, such as ["tea", "milk"] or []');
  }
  return ascending(Array.from(items, (item) => domain.index(item)));
}

/**
 * Whether these are the indices of a set. No function of ours runs for each of them, so that the code that runs does
 * not tell how many there are.
 * @param {unknown} indices
 * @param {number} size the number of items
 */
export const isSet = (indices, size) =>
  Array.isArray(indices) &&
  indices.every(Number.isInteger) && // "1" beside 1 would be an item that is there twice
  `${indices}` === `${ascending(indices)}` &&
  !(indices.at(-1) >= size);

/**
 * The item at a place of a set, or the padding if the set is not that long. No branch depends on the set.
 * @param {number[]} held
 * @param {number} place
 * @param {number} padding
 */
export const itemOr = (held, place, padding) =>
  (padding ^ (-(place < held.length) & (held[place] ^ padding))) >>> 0; // past the end, undefined counts as 0

/** @param {number[]} indices */
const ascending = (indices) => [...Uint32Array.from(new Set(indices)).sort()];
