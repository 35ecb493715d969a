// What a device does for one report, at most. A plan comes from somebody else: it can be valid and still ask for too
// much.

import { InvalidInputError, PlanLimitError } from "./errors.js";
import { LARGEST_EPSILON, LARGEST_SIZE, MOST_REPORT_BYTES, MOST_ROUNDS } from "./numbers.js";
import { checkWhole } from "./whole.js";

/**
 * The limits that the owner of a device, or of a page, sets.
 * @typedef {object} Limits
 * @property {number} [mostEpsilon] the largest epsilon that a plan may ask for; 4 unless it is given
 * @property {number} [mostReportBytes] the longest report in bytes; 4,096 unless it is given
 * @property {number} [mostItems] the largest number of items; 100,000 unless it is given
 * @property {boolean} [needsOther] whether plans without a catch-all item are refused
 */

/**
 * @param {Limits} limits
 * @returns {Required<Limits>}
 */
export function checkedLimits({ mostEpsilon = 4, mostReportBytes = 4096, mostItems = 100_000, needsOther = false }) {
  if (!isEpsilon(mostEpsilon)) throw new InvalidInputError("mostEpsilon must be a number above 0 and at most 16");
  checkWhole(InvalidInputError, "mostReportBytes", mostReportBytes, MOST_REPORT_BYTES);
  checkWhole(InvalidInputError, "mostItems", mostItems, LARGEST_SIZE);
  return { mostEpsilon, mostReportBytes, mostItems, needsOther };
}

/**
 * Whether this is a privacy budget.
 * @param {unknown} epsilon
 * @returns {epsilon is number}
 */
export const isEpsilon = (epsilon) => typeof epsilon === "number" && epsilon > 0 && epsilon <= LARGEST_EPSILON;

/**
 * What a plan asks of a device; undefined where it is not known yet.
 * @typedef {object} Demands
 * @property {unknown} [epsilon]
 * @property {number} [size] the number of items
 * @property {unknown} [other] the catch-all item
 * @property {number} [reportBytes]
 * @property {number} [rounds] of drawing, one after the other
 */

/**
 * Refuse a plan that asks for more than the limits.
 * @param {Demands} demands
 * @param {Required<Limits>} limits
 */
export function checkDemands({ epsilon, size = 0, other, reportBytes = 0, rounds = 0 }, limits) {
  const compare = (/** @type {number} */ asked, /** @type {number} */ most, /** @type {string} */ words) => {
    if (asked > most) throw new PlanLimitError(`this plan ${words}, and this device gives at most ${most}`);
  };
  if (isEpsilon(epsilon)) compare(epsilon, limits.mostEpsilon, `asks for epsilon ${epsilon}`);
  compare(size, limits.mostItems, `has ${size} items`);
  compare(reportBytes, limits.mostReportBytes, `has reports of ${reportBytes} bytes`);
  compare(rounds, MOST_ROUNDS, `has reports of ${rounds} rounds`);
  if (limits.needsOther && other === undefined) {
    throw new PlanLimitError("this plan has no catch-all item: to stay silent would tell that a value is not listed");
  }
}
