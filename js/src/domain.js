// The domain: the fixed list of items that people may hold.

import { isObject } from "./canonical_json.js";
import { PlanError, UnknownItemError, unusable } from "./errors.js";
import { LARGEST_SIZE } from "./numbers.js";
import { isWhole } from "./whole.js";

/** @typedef {string | number | boolean} Item */

export const NO_OTHER = "this plan has no catch-all item: to stay silent would tell that a value is not listed";

export const HALF_CHARACTER = /\p{Surrogate}/u; // it has no bytes

export class Domain {
  /** @param {unknown} given the domain of a plan: items or a size, and perhaps a catch-all item `other` */
  constructor(given) {
    if (!isObject(given)) throw misshapen();
    const { items, size, other, ...rest } = given;
    const listed = "items" in given;
    if (Object.keys(rest).length || listed === "size" in given) throw misshapen();
    /** @type {readonly Item[] | undefined} */
    this.items = listed ? checkedItems(items) : undefined;
    this.size = checkedSize(this.items?.length ?? size);
    // A Map tells 1, "1" and true apart, as canonical JSON does.
    this._places = this.items && placesOf(this.items);
    this.other = /** @type {Item | undefined} */ (other);
    if ("other" in given) {
      this._otherIndex = this._find(other);
      if (this._otherIndex === undefined)
        throw unusable("its catch-all is not one of its items");
    }
  }

  /**
   * The index of an item, if it is one.
   * @param {unknown} value
   * @returns {number | undefined}
   */
  _find(value) {
    if (this._places) return this._places.get(value);
    return isWhole(value, 0, this.size - 1) ? value + 0 : undefined; // -0 is 0
  }

  /**
   * The index of a value; that of the catch-all item for a value that is not listed.
   * @param {unknown} value
   */
  index(value) {
    if (Array.isArray(value) || ArrayBuffer.isView(value)) {
      throw new UnknownItemError("a value is one item, and not a list");
    }
    const found = this._find(value) ?? this._otherIndex;
    if (found === undefined) {
      throw new UnknownItemError(`the value is not an item of this plan, and ${NO_OTHER}`);
    }
    return found;
  }
}

const misshapen = () => new PlanError("this is not a plan: its domain is misshapen");

/** @param {unknown} size */
export function checkedSize(size) {
  if (!isWhole(size, 2, LARGEST_SIZE)) {
    throw unusable("its size is not a whole number from 2 to 2^32");
  }
  return size;
}

/**
 * @param {unknown} items
 * @returns {readonly Item[]}
 */
function checkedItems(items) {
  if (!Array.isArray(items)) throw misshapen();
  const isItem = (/** @type {unknown} */ item) =>
    typeof item === "string" || typeof item === "boolean" || (typeof item === "number" && Math.abs(item) < 2 ** 53);
  if (!items.every(isItem) || HALF_CHARACTER.test(items.join("\n")))
    throw unusable("an item is misshapen");
  return Object.freeze(items);
}

/**
 * The index of each item. No item may be there twice, and not 1 beside true, or 0 beside false: they are too much
 * alike.
 * @param {readonly Item[]} items
 * @returns {Map<unknown, number>}
 */
function placesOf(items) {
  /** @type {Map<unknown, number>} */
  const places = new Map();
  items.forEach((item, index) => places.set(item, index));
  const alike = [true, false].some((item) => places.has(item) && places.has(Number(item)));
  if (places.size < items.length || alike) throw unusable("an item is there twice");
  return places;
}
