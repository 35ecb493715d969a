// Local hashing (`olh`, `blh`, `llh`, `slh`): a drawn hash function, and a perturbed symbol, to which it hashes the held item.

import { bitLength, fromFields } from "../bitstrings.js";
import { expBelow, isAbove, largest, ONE, rounded } from "../exact.js";
import { precision, WHOLE } from "./mechanism.js";
import { privateTruth, response, symbolRatio } from "./symbols.js";

/** @typedef {import("./mechanism.js").Asked} Asked */
/** @typedef {import("./mechanism.js").Mechanism} Mechanism */
/** @typedef {import("./mechanism.js").Words} Words */

/**
 * What all of them share.
 * @param {number} symbols
 * @param {bigint} truth
 * @param {number} functionBits
 * @param {(words: Words) => number} draw a hash function, as the number that identifies it
 * @param {(identity: number, item: number) => number} hash
 * @param {number} [among] the number of symbols that a report stands for
 * @returns {Omit<Mechanism, "_parameters">}
 */
function hashed(symbols, truth, functionBits, draw, hash, among = 1) {
  const respond = response(symbols, truth);
  const symbolBits = bitLength(symbols - 1);
  return {
    _bits: functionBits + symbolBits,
    _ratio: symbolRatio(symbols, truth, WHOLE, among),
    _permanent: (index, words) => {
      const identity = draw(words);
      return fromFields([
        [identity, functionBits],
        [respond((hash(identity, index) ^ words.below(among)) >>> 0, words), symbolBits],
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
export function mix(word) {
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
  const choices = Array.from({ length: degree }, (_, i) => linearChoice(degree, i + 1, epsilon, 1));
  return linear(degree, largest(choices, PRECISION));
}

/**
 * Linear local hashing with reports that stand for several symbols.
 * @param {Asked} asked
 * @returns {Mechanism}
 */
export function subsetHashing({ size, epsilon }) {
  const degree = bitLength(size - 1);
  const wanted = expBelow(epsilon) + ONE;
  const longest = Math.min(degree, ((wanted + ONE - 1n) / ONE).toString(2).length + MORE_BITS);
  const choices = Array.from({ length: longest }, (_, i) => {
    const around = Number((ONE << BigInt(i + 1)) / wanted);
    const amounts = [Math.max(1, around), around + 1];
    return largest(
      amounts.map((among) => linearChoice(degree, i + 1, epsilon, among)),
      PRECISION,
    );
  });
  const [most, out] = largest(choices, PRECISION)._precision;
  const enough = choices.find(({ _precision: [p, q] }) => !isAbove([most * 10_000n, out * 10_044n], [p, q]));
  const found = enough ?? choices[0];
  const shared = linear(degree, found);
  return { ...shared, _parameters: { ...shared._parameters, among: found._among } };
}

/** How many more bits a symbol may have than e^epsilon + 1 takes. */
const MORE_BITS = 3;

/** @typedef {ReturnType<typeof linearChoice>} Linear */

/** @param {Linear} choice */
const PRECISION = (choice) => choice._precision;

/**
 * @param {number} degree
 * @param {Linear} choice
 * @returns {Mechanism}
 */
function linear(degree, { _symbolBits: symbolBits, _truth: truth, _among: among }) {
  const others = 2 ** degree - 1;
  return {
    _parameters: { degree, polynomial: 2 ** degree + LOW_TERMS[degree - 1], symbol_bits: symbolBits, truth },
    ...hashed(
      2 ** symbolBits,
      truth,
      degree,
      (words) => words.below(others) + 1,
      (multiplier, item) => linearHash(multiplier, item, degree, symbolBits),
      among,
    ),
  };
}

/**
 * The response with symbols of so many bits, of which a report stands for `among`, and its precision.
 * @param {number} degree
 * @param {number} symbolBits
 * @param {number} epsilon
 * @param {number} among
 */
function linearChoice(degree, symbolBits, epsilon, among) {
  const truth = privateTruth(2 ** symbolBits, epsilon, WHOLE, among);
  const [field, symbols, set] = [1n << BigInt(degree), 1n << BigInt(symbolBits), BigInt(among)];
  const whole = WHOLE * symbols;
  // p is kept/whole; if two items have different hashes, every other difference is equally likely.
  const kept = symbols * truth + set * (WHOLE - truth);
  const colliding = field / symbols - 1n;
  const apart = kept * (set - 1n) + (whole - kept) * set;
  const q = kept * colliding * (symbols - 1n) + apart * (field - 1n - colliding);
  const all = (field - 1n) * (symbols - 1n);
  return { _symbolBits: symbolBits, _truth: truth, _among: among, _precision: precision(kept * all, q, whole * all) };
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
