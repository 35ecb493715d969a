// PrivSet (`privset`): a report is a subset of exactly k of the items and the padding; subsets that have something in
// common with the user's padded set are e^epsilon times as likely as others.

import { byteLength } from "../bitstrings.js";
import { PlanError } from "../errors.js";
import { expBelow, largest, ONE, rounded, roundedDown } from "../exact.js";
import { itemOr } from "../item_sets.js";
import { MOST_HELD_BY_PRIVSET } from "../numbers.js";
import { checkWhole } from "../whole.js";
import { precision, WHOLE } from "./mechanism.js";

/** @typedef {import("./mechanism.js").Ratio} Ratio */

/**
 * @param {import("./mechanism.js").Asked} asked
 * @returns {import("./mechanism.js").Mechanism<number[]>}
 */
export function privset({ size, epsilon, setSize }) {
  checkWhole(PlanError, "set_size", setSize, MOST_HELD_BY_PRIVSET);
  const elements = size + setSize;
  const e = expBelow(epsilon);
  const each = BigInt(setSize) * (e + ONE);
  const near = rounded(BigInt(elements) * ONE, each); // elements/(setSize (e^epsilon + 1)), rounded
  const laws = [near - 1n, near].map((k) => lawOf(size, setSize, k, e - ONE));
  const { subset, hits, _ratio } = largest(laws, (law) => law._precision);
  let sum = 0n;
  const ends = hits.map((hit) => (sum += hit));

  return {
    _parameters: { subset, hits: hits.join() },
    _bits: elements,
    _rounds: subset,
    _ratio,
    _permanent: (held, words) => {
      // No branch depends on the set: the first places stand for the padded set, and change places with it at the end.
      const count = held.length;
      const start = words.scaled(count) * +(count > setSize);
      const places = Uint32Array.from({ length: setSize }, (_, t) => (start + t) % Math.max(count, setSize)).sort();

      words.next();
      const hit = ends.filter((end) => end <= words.integer).length + 1;
      let common = 0;
      for (let t = 0; t < setSize; t++) common += +(words.below(elements - t) < subset - common);
      if (hit <= ends.length) common = hit;

      // Floyd's algorithm: `common` of the first places, and as many of the others as are missing.
      const lit = new Uint8Array(elements);
      const choose = (/** @type {number} */ drawn, /** @type {number} */ last, /** @type {boolean} */ counts) => {
        lit[lit[drawn] ? last : drawn] |= +counts;
      };
      for (let last = 0; last < setSize; last++) choose(words.below(last + 1), last, last >= setSize - common);
      for (let last = elements - subset; last < elements; last++) {
        choose(setSize + words.below(last + 1 - setSize), last, last >= elements - subset + common);
      }

      for (let t = setSize; t--;) {
        const element = itemOr(held, places[t], size + places[t] - count);
        [lit[t], lit[element]] = [lit[element], lit[t]];
      }
      const report = new Uint8Array(byteLength(elements));
      lit.forEach((bit, i) => (report[i >> 3] |= bit << (i & 7)));
      return report;
    },
  };
}

/**
 * The law of a subset of k elements, or of the nearest number that can be.
 * @param {number} size
 * @param {number} setSize
 * @param {bigint} near k
 * @param {bigint} growth e^epsilon - 1, out of 2^448
 */
function lawOf(size, setSize, near, growth) {
  const [d, m] = [BigInt(size), BigInt(setSize)];
  const k = near < 1n ? 1n : near > d ? d : near;
  // For j = 0, 1, ..: how many subsets have j elements in common with the padded set, times the same number for all.
  let share = 1n;
  for (let i = 0n; i < m; i++) share *= d + m - k - i;
  const shares = [share];
  for (let j = 1n; j <= m && j <= k; j++) {
    shares.push((share = (share * (k - j + 1n) * (m - j + 1n)) / (j * (d - k + j))));
  }
  const every = shares.reduce((sum, one) => sum + one);
  const hits = shares.slice(1).map((one) => roundedDown(growth * one, ONE * every + growth * (every - shares[0])));
  while (hits.at(-1) === 0n) hits.pop();
  const common = hits.reduce((sum, hit, i) => sum + BigInt(i + 1) * hit, 0n);
  const rest = hits.reduce((left, hit) => left - hit, WHOLE);
  // The held items are reported with p = d kept/whole, the others with q = m other/whole: m p + d q = k.
  const kept = rest * k * m + (d + m) * common;
  const other = (d + m) * k * WHOLE - kept;
  const ratios = hits.map((hit, i) => {
    const least = shares[i + 1] * rest;
    return /** @type {Ratio} */ ([least + hit * every, least]);
  });
  return {
    subset: Number(k),
    hits,
    _ratio: largest([/** @type {Ratio} */ ([1n, 1n]), ...ratios], (ratio) => ratio),
    _precision: precision(d * kept, m * other, (d + m) * d * m * WHOLE),
  };
}
