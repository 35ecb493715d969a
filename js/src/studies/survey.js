// A survey of sets: four rounds, each with its own users. The first and the third ask how many items, or candidates, a person holds,
// the others which. Candidates are sets of items.

import { canonical } from "../canonical_json.js";
import { Domain } from "../domain.js";
import { PlanMismatchError } from "../errors.js";
import { isSet, readSet } from "../item_sets.js";
import { fingerprintOf } from "../sha256.js";
import { isWhole } from "../whole.js";
import { need } from "./study.js";

/** The smallest size of each class of sizes. */
const SMALLEST = [0, 1, 2, 3, 4, 5, 6, 8, 11, 15, 21, 31, 51, 101, 201];

/**
 * @param {any} document
 * @returns {import("./study.js").Kind}
 */
export function survey({ domain: given, shares }) {
  const domain = new Domain(given);
  need(shares.length === 4, shares.every((/** @type {unknown} */ share) => isWhole(share, 1, 2 ** 16)));
  const before = (/** @type {number} */ number) => shares.slice(0, number).reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0);
  return {
    _what: "survey",
    _places: before(4),
    _label: "group",
    _size: domain.size,
    _other: domain.other,
    _part(round, fingerprint, plan) {
      const { round: number, asks, candidates, items } = round;
      if (round.survey !== fingerprint) throw new PlanMismatchError("this part belongs to another study");
      need(round.format === "localdp-sets-round/1", isWhole(number, 0, 3), asks === ["size", "set"][number % 2], items === domain.size);
      need(number < 2 ? candidates === null : isCandidates(candidates, items));
      const digest = fingerprintOf(canonical(candidates ?? [])).slice(0, 12);
      const classes = SMALLEST.filter((size) => size <= Math.max(1, candidates?.length ?? items));
      const cells = asks === "size" ? labels(classes, candidates ? `candidates of ${digest}` : "items")
        : candidates?.map((/** @type {unknown} */ _, /** @type {number} */ i) => `candidate ${i} of ${digest}`);
      need(cells ? canonical(plan.items) === canonical(cells) : !plan.items && plan.size === items);
      need(plan.other === undefined, (plan.setSize === undefined) === (asks === "size"));
      return {
        _first: before(number),
        _end: before(number + 1),
        _read(value) {
          const set = readSet(value, domain);
          const held = candidates ? heldOf(candidates, set, items) : set;
          return asks === "size" ? classes.filter((size) => size <= held.length).length - 1 : held;
        },
      };
    },
  };
}

/**
 * @param {any} given
 * @param {number} items
 */
const isCandidates = (given, items) =>
  given.length > 0 &&
  given.every((/** @type {number[]} */ itemset) => itemset.length && isSet(itemset, items)) &&
  new Set(given.map(String)).size === given.length;

/**
 * The numbers of the candidates whose items are all held. Every item of every candidate is looked at, also after one that is not
 * held: whoever wrote the candidates could otherwise tell by the time whether a person holds the first ones.
 * @param {number[][]} candidates
 * @param {number[]} set
 * @param {number} items how many there are
 */
function heldOf(candidates, set, items) {
  const isHeld = new Uint8Array(items);
  for (const item of set) isHeld[item] = 1;
  return candidates.flatMap((itemset, i) => (itemset.reduce((all, item) => all & isHeld[item], 1) ? [i] : []));
}

/**
 * What the classes of sizes are called.
 * @param {number[]} classes
 * @param {string} what
 */
const labels = (classes, what) =>
  classes.map((low, i) => {
    const end = classes[i + 1];
    if (!end) return `${low} ${what} or more`;
    return `${low}${end === low + 1 ? "" : ` to ${end - 1}`} ${what}`;
  });
