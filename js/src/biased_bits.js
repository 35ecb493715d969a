// Independent random bits that are 1 with a given probability: drawn for all items together, digit by digit.

import { byteLength } from "./bitstrings.js";
import { EAGER_DIGITS } from "./numbers.js";
import { rareBits } from "./rare_bits.js";

/** @typedef {import("./random.js").Words} Words */

/**
 * A function that draws `size` bits, each 1 with probability threshold/2^64.
 * @param {number} size
 * @param {bigint} threshold
 */
export function noiseBits(size, threshold) {
  const draw = (threshold > 1n << 59n ? biasedBits : rareBits)(size, threshold); // as the wire format says
  return (/** @type {Words} */ words) => {
    const halves = draw(words); // of 32 bits; those past the last bit are 0
    const bytes = new Uint8Array(byteLength(size));
    for (let i = 0; i < bytes.length; i++) bytes[i] = halves[i >> 2] >>> (8 * (i & 3));
    return bytes;
  };
}

/**
 * A bit is 1 if a uniform number of 64 binary digits is below the threshold: if it has a 0 in the first place where
 * the two differ. The numbers are drawn one digit at a time, 64 of them in a word.
 * @param {number} size
 * @param {bigint} threshold
 */
function biasedBits(size, threshold) {
  const digits = threshold.toString(2).padStart(64, "0").replace(/0+$/, "");
  const columns = Math.ceil(size / 64);
  // Nothing as long as a report is made before one is drawn: a plan is derived before its limits are checked.
  return (/** @type {Words} */ words) => {
    const lit = new Uint32Array(2 * columns);
    const open = new Uint32Array(2 * columns).fill(-1); // the bits that are not decided yet
    for (let bit = size; bit < 64 * columns; bit++) open[bit >> 5] &= ~(1 << (bit & 31));
    for (let place = 0; place < digits.length; place++) {
      const one = -Number(digits[place]); // the digit of the threshold, 32 times
      for (let at = 0; at < 2 * columns; at += 2) {
        if (place >= EAGER_DIGITS && !(open[at] | open[at + 1])) continue;
        words.next();
        lit[at] |= open[at] & ~words.low & one;
        lit[at + 1] |= open[at + 1] & ~words.high & one;
        open[at] &= words.low ^ ~one;
        open[at + 1] &= words.high ^ ~one;
      }
    }
    return lit;
  };
}
