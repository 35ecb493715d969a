// Unary encoding (`sue`, `oue`): a report has one bit for each item, and every bit gets its own noise.

import { noiseBits } from "../biased_bits.js";
import { expBelow, ONE, roundedDown } from "../exact.js";
import { halves } from "../random.js";
import { WHOLE } from "./mechanism.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */

/**
 * The smallest probability that a bit of another item is lit: 1/(1 + e^epsilon), rounded up.
 * @param {number} epsilon
 */
export function leastNoise(epsilon, halved = false) {
  const e = expBelow(epsilon, halved);
  return WHOLE - roundedDown(e, ONE + e);
}

/**
 * @param {boolean} symmetric whether ones and zeros are flipped alike (`sue`), or the held item's bit is set with 1/2
 *   (`oue`)
 * @returns {(asked: Asked) => Mechanism & { _parameters: { keep: bigint, noise: bigint } }}
 */
export const unary =
  (symmetric) =>
  ({ size, epsilon }) => {
    const noise = leastNoise(epsilon, symmetric);
    const keep = symmetric ? WHOLE - noise : WHOLE / 2n;
    const threshold = halves(keep);
    const draw = noiseBits(size, noise);
    return {
      _parameters: { keep, noise },
      _bits: size,
      _ratio: bitRatio(keep, noise, WHOLE),
      _permanent: (index, words) => {
        const own = words.event(threshold);
        const lit = draw(words); // all bits get noise, and then the bit of the held item is replaced
        const bit = index & 7;
        lit[index >>> 3] = (lit[index >>> 3] & ~(1 << bit)) | (own << bit);
        return lit;
      },
    };
  };

/**
 * The largest ratio of the probabilities of a report whose bits are independent: p (1 - q) / (q (1 - p)).
 * @param {bigint} p out of `whole`
 * @param {bigint} q out of `whole`
 * @param {bigint} whole
 * @returns {import("./mechanism.js").Ratio}
 */
export const bitRatio = (p, q, whole) => [p * (whole - q), q * (whole - p)];
