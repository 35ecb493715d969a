// Generalized randomized response (`grr`), and twice in a row (`grr+grr`): the index of an item.

import { bitLength, field, fromFields } from "../bitstrings.js";
import { unusable, WireError } from "../errors.js";
import { ONCE_TOO_LARGE, WHOLE } from "./mechanism.js";
import { privateTruth, response, symbolRatio } from "./symbols.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */

/**
 * @param {Asked} asked
 * @returns {Mechanism & { _parameters: { truth: bigint } }}
 */
export function grr({ size, epsilon, setSize }) {
  const bits = bitLength(size - 1);
  const truth = privateTruth(size, epsilon, WHOLE, setSize);
  const respond = response(size, truth);
  return {
    _parameters: { truth },
    _bits: bits,
    _ratio: symbolRatio(size, truth, WHOLE, setSize),
    _permanent: (index, words) => fromFields([[respond(index, words), bits]]),
    _check: (report) => {
      if (field(report, 0, bits) >= size)
        throw new WireError("symbol-out-of-range", "a report has an item that is not there");
    },
  };
}

/**
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function grrTwice(asked) {
  const { size, once } = asked;
  const first = grr(asked);
  const { truth } = first._parameters;
  const again = truth && privateTruth(size, once, truth);
  if (again >= WHOLE) throw unusable(ONCE_TOO_LARGE);
  const respond = response(size, again);
  return {
    ...first,
    _parameters: { ...first._parameters, again_truth: again },
    _ratioOnce: symbolRatio(size, truth * again, WHOLE * WHOLE),
    _again: (permanent, words) => fromFields([[respond(field(permanent, 0, first._bits), words), first._bits]]),
  };
}
