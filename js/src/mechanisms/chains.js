// Chains of two unary encodings (`sue+sue`, `oue+oue`, `oue+sue`, `sue+oue`): every report perturbs a permanent
// response once more. The name says how the two perturbations are made, the permanent one first.

import { noiseBits } from "../biased_bits.js";
import { unusable } from "../errors.js";
import { expBelow, isAbove, ONE } from "../exact.js";
import { ONCE_TOO_LARGE, WHOLE } from "./mechanism.js";
import { bitRatio, unary } from "./unary.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */

/**
 * @param {boolean} firstSymmetric
 * @param {boolean} symmetric of the second perturbation
 * @returns {(asked: Asked) => Mechanism}
 */
export const unaryChain = (firstSymmetric, symmetric) => (asked) => {
  const { size, once } = asked;
  const first = unary(firstSymmetric)(asked);
  const most = expBelow(once);

  /** @param {bigint} noise */
  const keepWith = (noise) => (symmetric ? WHOLE - noise : WHOLE / 2n);

  /**
   * The ratio of one report with this noise in the second perturbation.
   * @param {bigint} noise
   */
  const ratioWith = (noise) => {
    const { keep, noise: other } = first._parameters;
    const [p, q] = [keep, other].map((lit) => lit * keepWith(noise) + (WHOLE - lit) * noise);
    return bitRatio(p, q, WHOLE * WHOLE);
  };

  /** @param {bigint} noise */
  const isPrivate = (noise) => !isAbove(ratioWith(noise), [most, ONE]);

  // The smallest noise with which one report is private enough. More noise never makes the ratio larger.
  let leaky = 0n;
  let noise = WHOLE / 2n;
  if (isPrivate(leaky)) throw unusable(ONCE_TOO_LARGE);
  while (noise - leaky > 1n) {
    const middle = (leaky + noise) / 2n;
    if (isPrivate(middle)) noise = middle;
    else leaky = middle;
  }

  const toss = noiseBits(size, WHOLE / 2n); // the fair bits, each of them flipped
  const draw = noiseBits(size, noise);
  return {
    ...first,
    _parameters: { ...first._parameters, again_keep: keepWith(noise), again_noise: noise },
    _ratioOnce: ratioWith(noise),
    _again: (permanent, words) => {
      const tails = symmetric ? permanent : toss(words);
      return draw(words).map((lit, i) =>
        symmetric ? permanent[i] ^ lit : (permanent[i] & ~tails[i]) | (~permanent[i] & lit),
      );
    },
  };
};
