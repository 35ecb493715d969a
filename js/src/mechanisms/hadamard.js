// Hadamard response (`hr`): a column of a Hadamard matrix; columns where the item's row is +1 are likelier than the
// rest.

import { bitLength, fromFields } from "../bitstrings.js";
import { unusable } from "../errors.js";
import { expBelow, ONE } from "../exact.js";
import { halves } from "../random.js";
import { parity } from "./hashing.js";
import { WHOLE } from "./mechanism.js";
import { leastNoise } from "./unary.js";

/**
 * @param {import("./mechanism.js").Asked} asked
 * @returns {import("./mechanism.js").Mechanism}
 */
export function hadamard({ size, epsilon }) {
  const bits = bitLength(size);
  if (expBelow(epsilon) > 2n * ONE || bits > 32) throw unusable("its epsilon or its size is too large for hr");
  const keep = WHOLE - leastNoise(epsilon);
  const threshold = halves(keep);
  return {
    _parameters: { order_bits: bits, keep },
    _bits: bits,
    _ratio: [keep, WHOLE - keep],
    _permanent: (index, words) => {
      const row = index + 1;
      words.next();
      const column = words.low & (2 ** bits - 1);
      const wanted = 1 - words.event(threshold);
      // Flipping the lowest bit that is set in the row changes the sign.
      return fromFields([[column ^ (-(parity(column & row) ^ wanted) & row & -row), bits]]);
    },
  };
}
