// Square Wave on whole numbers (`wave`): an output of the band around the held cell, or any output at all. A band has as many outputs
// for every cell; a cell apart from the order has one of its own, after the others.

import { bitLength, field, fromFields } from "../bitstrings.js";
import { unusable, WireError } from "../errors.js";
import { expBelow, fixed, ONE, rounded, roundedDown } from "../exact.js";
import { MOST_WAVE_CELLS } from "../numbers.js";
import { halves } from "../random.js";
import { WHOLE } from "./mechanism.js";

/**
 * @param {import("./mechanism.js").Asked} asked
 * @returns {import("./mechanism.js").Mechanism}
 */
export function wave({ size, epsilon, ordered }) {
  if (!ordered || size > MOST_WAVE_CELLS) throw unusable("wave needs a scale of at most 1,536 cells");
  const [e, exponent] = [expBelow(epsilon), fixed(epsilon)];
  const wanted = BigInt(ordered) * (exponent * e - e * ONE + ONE * ONE);
  const band = Number(rounded(wanted, 2n * e * (e - ONE - exponent)));
  const heavy = 2 * band + 1;
  const outcomes = ordered + 2 * band + heavy * (size - ordered);
  const wide = (e - ONE) * BigInt(heavy);
  const truth = roundedDown(wide, wide + BigInt(outcomes) * ONE);
  const threshold = halves(truth);
  const bits = bitLength(outcomes - 1);
  const rest = BigInt(heavy) * (WHOLE - truth);
  return {
    _parameters: { band, truth },
    _bits: bits,
    _ratio: [rest + truth * BigInt(outcomes), rest],
    _permanent: (index, words) => {
      const truthful = words.event(threshold);
      const drawn = words.below(heavy * outcomes); // one number serves both cases, of which one happens
      const near = index + 2 * band * (index - ordered + 1) * +(index >= ordered) + (drawn % heavy);
      const any = Math.floor(drawn / heavy);
      return fromFields([[(any ^ (-truthful & (any ^ near))) >>> 0, bits]]);
    },
    _check: (report) => {
      if (field(report, 0, bits) >= outcomes) throw new WireError("symbol-out-of-range", "a report has an item that is not there");
    },
  };
}
