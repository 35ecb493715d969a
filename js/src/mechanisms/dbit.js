// dBitFlip (`dbit`): every user answers for some of the items, drawn at random, with one noisy bit for each.

import { bitLength, byteLength, write } from "../bitstrings.js";
import { PlanError } from "../errors.js";
import { MOST_ANSWERS } from "../numbers.js";
import { halves } from "../random.js";
import { checkWhole } from "../whole.js";
import { WHOLE } from "./mechanism.js";
import { leastNoise } from "./unary.js";

/**
 * @param {import("./mechanism.js").Asked} asked
 * @returns {import("./mechanism.js").Mechanism}
 */
export function dbit({ size, epsilon, answers }) {
  checkWhole(PlanError, "answers", answers, Math.min(size, MOST_ANSWERS));
  const noise = leastNoise(epsilon);
  const keep = answers > 1 ? WHOLE / 2n : WHOLE - noise;
  const [own, other] = [halves(keep), halves(noise)];
  const itemBits = bitLength(size - 1);
  const bits = answers * (itemBits + 1);
  return {
    _parameters: { keep, noise },
    _bits: bits,
    _rounds: answers,
    _ratio: [WHOLE - noise, noise],
    _permanent: (index, words) => {
      const drawn = new Set(); // Floyd's algorithm, as for subsets
      for (let last = size - answers; last < size; last++) {
        const item = words.below(last + 1);
        drawn.add(drawn.has(item) ? last : item);
      }
      const report = new Uint8Array(byteLength(bits));
      Uint32Array.from(drawn)
        .sort()
        .forEach((item, place) => {
          const ifHeld = words.event(own);
          const ifNot = words.event(other);
          const held = +(item === index);
          write(report, place * (itemBits + 1), item, itemBits);
          write(report, place * (itemBits + 1) + itemBits, ifNot ^ (held & (ifHeld ^ ifNot)), 1);
        });
      return report;
    },
  };
}
