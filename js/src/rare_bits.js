// Random bits that are rarely 1, drawn by jumping from one lit bit to the next.
//
// Bits are lit with probability q; let r = 1 - q. For U uniform between 0 and 1, the number of dark bits before the
// next lit one is the number of edges 1 - r, 1 - r^2, .. that are at most U. A jump looks 254 bits ahead. U is read
// 64 binary digits at a time, until it is known exactly which edges it has passed. The first word nearly always
// tells.

import { REACH } from "./numbers.js";
import { halves, isBelow } from "./random.js";

/** @typedef {import("./random.js").Words} Words */

/**
 * @param {number} size
 * @param {bigint} threshold
 */
export function rareBits(size, threshold) {
  // The edges, as whole numbers out of 2^(64 * 254).
  let power = 1n << (64n * 254n);
  const whole = power;
  const edges = Array.from({ length: REACH }, () => {
    power -= (power * threshold) >> 64n;
    return whole - power;
  });
  const firstDigits = edges.map((edge) => halves(edge >> (64n * 253n)));

  /**
   * The number of dark bits before the next lit one, or 254 if there are that many. If it is at least `within`, any
   * number of at least `within` may be returned.
   * @param {Words} words
   * @param {number} within
   */
  const jump = (words, within) => {
    words.next();
    let passed = 0; // the number of edges whose first 64 digits are below the word
    for (let step = 128; step; step >>= 1) {
      const edge = passed + step - 1;
      if (edge < REACH && isBelow(firstDigits[edge], words)) passed += step;
    }
    // The next edge is not below the word: it is above, or they tie.
    return passed === REACH || isBelow(words, firstDigits[passed]) ? passed : readOn(words, within);
  };

  /**
   * Read more words after one that ties with an edge.
   * @param {Words} words
   * @param {number} within
   */
  const readOn = (words, within) => {
    let digits = words.integer;
    for (let unread = 64n * 253n; ; unread -= 64n) {
      // U lies between the digits read so far followed by zeros and followed by ones.
      const least = digits << unread;
      const most = least + (1n << unread);
      const fewest = edges.filter((edge) => edge <= least).length;
      if (fewest >= within || fewest === edges.filter((edge) => edge < most).length) return fewest;
      words.next();
      digits = (digits << 64n) | words.integer;
    }
  };

  return (/** @type {Words} */ words) => {
    const lit = new Uint32Array(2 * Math.ceil(size / 64));
    for (let at = 0; at < size;) {
      const dark = jump(words, size - at);
      at += dark;
      if (dark === REACH) continue;
      if (at < size) lit[at >> 5] |= 1 << (at & 31);
      at++;
    }
    return lit;
  };
}
