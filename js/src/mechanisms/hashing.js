// Local hashing (`olh`, `blh`, `llh`): a drawn hash function, and a perturbed symbol, to which it hashes the held item.

import { bitLength, fromFields } from "../bitstrings.js";
import { expBelow, largest, ONE, rounded } from "../exact.js";
import { precision, WHOLE } from "./mechanism.js";
import { privateTruth, response, symbolRatio } from "./symbols.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */
/** @typedef {import("./mechanism.js").Words} Words */

/**
 * What the three share.
 * @param {number} symbols
 * @param {bigint} truth
 * @param {number} functionBits
 * @param {(words: Words) => number} draw a hash function, as the number that identifies it
 * @param {(identity: number, item: number) => number} hash
 * @returns {Omit<Mechanism, "_parameters">}
 */
function hashed(symbols, truth, functionBits, draw, hash) {
  const respond = response(symbols, truth);
  const symbolBits = bitLength(symbols - 1);
  return {
    _bits: functionBits + symbolBits,
    _ratio: symbolRatio(symbols, truth),
    _permanent: (index, words) => {
      const identity = draw(words);
      return fromFields([
        [identity, functionBits],
        [respond(hash(identity, index), words), symbolBits],
      ]);
    },
  };
}

/**
 * @param {boolean} binary whether there are 2 symbols (`blh`), or e^epsilon + 1 (`olh`)
 * @returns {(asked: Asked) => Mechanism}
 */
export const localHashing =
  (binary) =>
  ({ epsilon }) => {
    const symbols = binary ? 2 : Number(rounded(expBelow(epsilon) + ONE, ONE));
    const truth = privateTruth(symbols, epsilon);
    const draw = (/** @type {Words} */ words) => (words.next(), words.low);
    return {
      _parameters: { hash: "triple32", symbols, truth },
      ...hashed(symbols, truth, 32, draw, (seed, item) => localHash(seed, item, symbols)),
    };
  };

/**
 * The symbol of an item under a seed.
 * @param {number} seed
 * @param {number} item
 * @param {number} symbols at most 2^24
 */
export function localHash(seed, item, symbols) {
  const mixed = mix(seed ^ mix(item + 1)) >>> 0;
  return Number((BigInt(mixed) * BigInt(symbols)) >> 32n); // the product has more digits than a float
}

/** @param {number} word */
function mix(word) {
  word ^= word >>> 17;
  word = Math.imul(word, 0xed5ad4bb);
  word ^= word >>> 11;
  word = Math.imul(word, 0xac4c1b51);
  word ^= word >>> 15;
  word = Math.imul(word, 0x31848bab);
  return word ^ (word >>> 14);
}

/**
 * Linear local hashing: the hash multiplies by a random element of the field with 2^degree elements.
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function linearHashing({ size, epsilon }) {
  const degree = bitLength(size - 1);
  const others = 2 ** degree - 1;
  const choices = Array.from({ length: degree }, (_, i) => {
    const truth = privateTruth(2 ** (i + 1), epsilon);
    return { symbolBits: i + 1, truth, _precision: linearPrecision(degree, i + 1, truth) };
  });
  const { symbolBits, truth } = largest(choices, (choice) => choice._precision);
  const polynomial = 2 ** degree + LOW_TERMS[degree - 1];
  const shared = hashed(
    2 ** symbolBits,
    truth,
    degree,
    (words) => words.below(others) + 1,
    (multiplier, item) => linearHash(multiplier, item, degree, symbolBits),
  );
  return {
    _parameters: { degree, polynomial, symbol_bits: symbolBits, truth },
    ...shared,
  };
}

/**
 * The precision with symbols of so many bits.
 * @param {number} degree
 * @param {number} bits
 * @param {bigint} truth
 */
function linearPrecision(degree, bits, truth) {
  // p is kept/whole; a report supports another item with `kept` if their hashes are equal, and else with `other`.
  const [field, symbols] = [1n << BigInt(degree), 1n << BigInt(bits)];
  const other = WHOLE - truth;
  const kept = symbols * truth + other;
  const colliding = field / symbols - 1n;
  const q = kept * colliding + other * (field - 1n - colliding);
  return precision(kept * (field - 1n), q, WHOLE * symbols * (field - 1n));
}

/**
 * @param {number} multiplier
 * @param {number} item
 * @param {number} degree
 * @param {number} bits
 */
export function linearHash(multiplier, item, degree, bits) {
  let symbol = 0;
  for (let place = 0, power = multiplier; place < bits; place++) {
    symbol |= parity(power & item) << place;
    // Times X: the carry out of bit degree - 1 is replaced by the low terms. Bits past the degree do not matter.
    power = (power << 1) ^ (-((power >>> (degree - 1)) & 1) & LOW_TERMS[degree - 1]);
  }
  return symbol >>> 0;
}

/**
 * @param {number} word of 32 bits
 * @returns {number} 1 if an odd number of bits is set, else 0
 */
export function parity(word) {
  for (let shift = 16; shift; shift >>= 1) word ^= word >>> shift;
  return word & 1;
}

/** For degrees 1 to 32, the smallest irreducible polynomial without its leading term. */
export const LOW_TERMS = [
  0, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141,
];
