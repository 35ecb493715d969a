// A number on a scale: cells that have an order, whole numbers or bins, and perhaps one more for what is missing or no number.
//
// With a step of 1 between whole numbers the cells are the whole numbers, otherwise bins, of which the last has its end too. A
// number counts for the cell that begins at or below it, and one beyond the ends for the nearer end.

import { NO_OTHER } from "./domain.js";
import { UnknownItemError, unusable } from "./errors.js";
import { LARGEST_EXACT, LONGEST_NUMBER, MOST_CELLS, MOST_DECIMALS } from "./numbers.js";
import { isWhole } from "./whole.js";

// Python reads such a text as the same number. Both know more ways to write one, and differ there.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The domain of a plan that asks for a number. */
export class Scale {
  /** @param {any} question */
  constructor({ name, low, high, step, other, ...rest }) {
    if (name !== "scale" || Object.keys(rest).length) throw unusable("its question is not supported here");
    const unit = 10 ** Math.max(...[low, high, step].map(decimalsOf));
    const [first, last, width] = [low, high, step].map((number) => Math.round(number * unit));
    const isOfWhole = width === unit && first % unit === 0;
    this._ordered = (last - first) / width + Number(isOfWhole);
    this._start = (/** @type {number} */ i) => (first + width * i) / unit; // whole numbers: the same floats in every language
    const { _ordered: ordered, _start: start } = this;
    if (!(width > 0) || Math.max(-first, last) > LARGEST_EXACT || !isWhole(ordered, 2, MOST_CELLS)) throw misshapen();
    /** @type {import("./domain.js").Item[]} */
    const cells = Array.from({ length: ordered }, (_, i) => (isOfWhole ? start(i) : `${start(i)} to ${start(i + 1)}`));
    if (other !== undefined && (typeof other !== "string" || cells.includes(other))) throw misshapen();
    /** @type {readonly import("./domain.js").Item[]} */
    this.items = Object.freeze(other === undefined ? cells : [...cells, other]);
    this.size = this.items.length;
    this.other = other;
  }

  /**
   * The cell of a number.
   * @param {unknown} value
   */
  index(value) {
    const { _ordered: ordered, _start: start } = this;
    const number = numberOf(value);
    if (Number.isNaN(number)) {
      if (this.other === undefined) throw new UnknownItemError(`the value is not a number, and ${NO_OTHER}`);
      return ordered;
    }
    let [cell, past] = [0, ordered]; // start(cell) is at or below the number, if anything is, and start(past) above it
    while (past - cell > 1) {
      const middle = (cell + past) >> 1;
      if (start(middle) <= number) cell = middle;
      else past = middle;
    }
    return cell;
  }
}

const misshapen = () => unusable("its scale is misshapen");

/**
 * How many digits a number has after the point.
 * @param {unknown} number
 */
function decimalsOf(number) {
  for (let decimals = 0; typeof number === "number" && decimals <= MOST_DECIMALS; decimals++) {
    if (Math.round(number * 10 ** decimals) / 10 ** decimals === number) return decimals;
  }
  throw misshapen();
}

/** @param {unknown} value */
function numberOf(value) {
  if (typeof value === "string") {
    const text = value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
    return text.length <= LONGEST_NUMBER && NUMBER.test(text) ? Number(text) : NaN;
  }
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
}
