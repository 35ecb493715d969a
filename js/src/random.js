// Where random words come from. A word is 64 fair bits, given as two halves of 32 bits, because JavaScript computes
// with those fastest.

import { encrypt, expandKey } from "./aes.js";
import { InvalidInputError } from "./errors.js";
import { LEAST_FRESH, LEAST_KEYED, MOST_AT_ONCE } from "./numbers.js";

/** A source of random words: `next()` puts the next one into `low` and `high`, each a whole number below 2^32. */
export class Words {
  /** @param {() => Uint32Array} refill gives the next halves, the low one of each word first */
  constructor(refill) {
    this.low = 0;
    this.high = 0;
    this._refill = refill;
    /** @type {Uint32Array} */
    this._block = new Uint32Array();
    this._at = 0;
  }

  next() {
    if (this._at === this._block.length) {
      this._block = this._refill();
      this._at = 0;
    }
    const { _block: block, _at: at } = this;
    this.low = block[at];
    this.high = block[at + 1];
    block[at] = block[at + 1] = 0; // a report and the words it was made of would together tell the value
    this._at = at + 2;
  }

  /** The word as one whole number. */
  get integer() {
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  /**
   * Whether an event happens that has this probability.
   * @param {Threshold} threshold
   * @returns {number} 1 if the next word is below the threshold, else 0
   */
  event(threshold) {
    this.next();
    return isBelow(this, threshold);
  }

  /**
   * The next word scaled to a number from 0 to bound - 1, all equally likely to within 2^-64. It takes one word, whatever
   * the bound is.
   * @param {number} bound
   */
  scaled(bound) {
    this.next();
    return Number((this.integer * BigInt(bound)) >> 64n);
  }

  /**
   * A number from 0 to bound - 1, all equally likely. Words past the last whole share are drawn again, so there is no
   * bias.
   * @param {number} bound at most 2^32
   */
  below(bound) {
    if (bound === 1) return 0;
    for (;;) {
      this.next();
      // The quotient as a float is off by less than 2^-22, so away from whole numbers its whole part is right.
      const near = (this.high * 2 ** 32 + this.low) * (bound / 2 ** 64);
      if (bound <= 2 ** 20 && Math.abs(near - Math.round(near)) > 2 ** -20) return Math.floor(near);
      const drawn = Number(this.integer / ((1n << 64n) / BigInt(bound)));
      if (drawn < bound) return drawn;
    }
  }
}

/**
 * A whole number below 2^64, in two halves; as a probability, it is out of 2^64.
 * @typedef {{ low: number, high: number }} Threshold
 */

/**
 * Compare two whole numbers in halves, without a branch.
 * @param {Threshold} one
 * @param {Threshold} other
 * @returns {number} 1 if the first is below the second, else 0
 */
export const isBelow = (one, other) =>
  +(one.high < other.high) | (+(one.high === other.high) & +(one.low < other.low));

/**
 * @param {bigint} whole
 * @returns {Threshold}
 */
export const halves = (whole) => ({ low: Number(whole & 0xffffffffn), high: Number(whole >> 32n) });

/** Fresh random words, from the operating system through `crypto.getRandomValues` alone. */
export function freshWords() {
  let size = LEAST_FRESH / 2;
  return new Words(() => crypto.getRandomValues(new Uint32Array((size = Math.min(2 * size, MOST_AT_ONCE)))));
}

/**
 * The words of AES-128 in counter mode, with the counter starting at zero. A key must serve one response only.
 * @param {Uint8Array} key 16 bytes
 */
export function keyedWords(key) {
  if (key.length !== 16) throw new InvalidInputError(`a key has 16 bytes, not ${key.length}`);
  const keys = expandKey(key);
  const block = new Int32Array(4);
  let counter = 0;
  let size = LEAST_KEYED / 2;
  return new Words(() => {
    const out = new Uint32Array((size = Math.min(2 * size, MOST_AT_ONCE)));
    for (let at = 0; at < size; at += 4) {
      block[0] = block[1] = 0;
      block[2] = counter / 2 ** 32; // rounded down
      block[3] = counter++;
      encrypt(keys, block);
      for (let i = 0; i < 4; i++) out[at + i] = swapped(block[i]);
    }
    return out;
  });
}

/**
 * The four bytes of a word in the opposite order.
 * @param {number} word
 */
const swapped = (word) => (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
