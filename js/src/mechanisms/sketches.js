// Apple's sketches (`cms`, `hcms`): one of a few hash functions that all devices share, and the perturbed cell of the held item.

import { bitLength, byteLength, fromFields, write } from "../bitstrings.js";
import { halves } from "../random.js";
import { linearHash, LOW_TERMS, mix, parity } from "./hashing.js";
import { WHOLE } from "./mechanism.js";
import { leastNoise, unary } from "./unary.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */

const MOST_FUNCTIONS = 1024;
const MOST_CELL_BITS = 10;

/**
 * The number of hash functions, the bits of a cell and of a function's number, what a plan says of them, and the cell of an item.
 * @param {number} size
 * @returns {[number, number, number, object, (one: number, item: number) => number]}
 */
function shared(size) {
  const degree = bitLength(size - 1);
  const cellBits = Math.min(degree, MOST_CELL_BITS);
  const functions = Math.min(2 ** degree - 1, MOST_FUNCTIONS);
  const multipliers = new Set(); // all there are, or the first different ones of a fixed sequence
  for (let i = 1; multipliers.size < functions; i++) {
    const multiplier = functions < MOST_FUNCTIONS ? i : (mix(i) >>> 0) >>> (32 - degree);
    if (multiplier) multipliers.add(multiplier);
  }
  const listed = [...multipliers];
  return [
    functions,
    cellBits,
    Math.max(1, bitLength(functions - 1)),
    { functions, degree, polynomial: 2 ** degree + LOW_TERMS[degree - 1], cell_bits: cellBits },
    (one, item) => linearHash(listed[one], item, degree, cellBits),
  ];
}

/**
 * The count mean sketch: the bits of all cells, perturbed as in `sue`, and the function after them.
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function sketch(asked) {
  const [functions, cellBits, functionBits, parameters, cell] = shared(asked.size);
  const bits = unary(true)({ ...asked, size: 2 ** cellBits });
  return {
    _parameters: { ...parameters, ...bits._parameters },
    _bits: bits._bits + functionBits,
    _ratio: bits._ratio,
    _permanent: (index, words) => {
      const one = words.below(functions);
      const report = new Uint8Array(byteLength(bits._bits + functionBits));
      report.set(bits._permanent(cell(one, index), words));
      write(report, bits._bits, one, functionBits);
      return report;
    },
  };
}

/**
 * The Hadamard form: one entry of the row that belongs to the cell, in a drawn column.
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function hadamardSketch({ size, epsilon }) {
  const [functions, cellBits, functionBits, parameters, cell] = shared(size);
  const keep = WHOLE - leastNoise(epsilon);
  const threshold = halves(keep);
  return {
    _parameters: { ...parameters, keep },
    _bits: functionBits + cellBits + 1,
    _ratio: [keep, WHOLE - keep],
    _permanent: (index, words) => {
      const one = words.below(functions);
      words.next();
      const column = words.low & (2 ** cellBits - 1);
      const entry = parity(column & cell(one, index)) ^ (1 - words.event(threshold));
      return fromFields([
        [one, functionBits],
        [column, cellBits],
        [entry, 1],
      ]);
    },
  };
}
