// Subset selection (`ss`): a report is a set of exactly k items; sets with the held item are likelier than others.

import { byteLength } from "../bitstrings.js";
import { expBelow, ONE, rounded, roundedDown } from "../exact.js";
import { halves } from "../random.js";
import { WHOLE } from "./mechanism.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */

/**
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function subset({ size, epsilon }) {
  const e = expBelow(epsilon);
  const d = BigInt(size);
  const k = rounded(d * ONE, e + ONE) || 1n; // d/(e^epsilon + 1), rounded
  const keep = roundedDown(k * e, k * e + (d - k) * ONE);
  const threshold = halves(keep);
  const first = size - Number(k);
  return {
    _parameters: { subset: Number(k), keep },
    _bits: size,
    _rounds: Number(k),
    _ratio: [keep * (d - k), (WHOLE - keep) * k],
    _permanent: (index, words) => {
      // Floyd's algorithm, on the places counted from the held item: which words are drawn and which places are
      // looked at do not depend on the item. Only the last loop does, and it visits every place.
      const chosen = new Uint8Array(size);
      const kept = words.event(threshold);
      for (let last = first; last < size; last++) {
        const drawn = words.below(last) + 1;
        if (last === first) chosen[drawn * (1 - kept)] = 1;
        else chosen[chosen[drawn] ? last : drawn] = 1;
      }
      const report = new Uint8Array(byteLength(size));
      for (let i = 0, item = index; i < size; i++) {
        report[item >> 3] |= chosen[i] << (item & 7);
        item++;
        item -= size & -+(item >= size);
      }
      return report;
    },
  };
}
