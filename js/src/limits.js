// What a device does for one report, at most. A plan comes from somebody else: it can be valid and still ask for too
// much.

import { NO_OTHER } from "./domain.js";
import { InvalidInputError, PlanLimitError } from "./errors.js";
import { LARGEST_EPSILON, LARGEST_SIZE, MOST_REPORT_BYTES, MOST_ROUNDS } from "./numbers.js";
import { checkWhole, isWhole } from "./whole.js";

/**
 * The limits that the owner of a device, or of a page, sets.
 * @typedef {object} Limits
 * @property {number} [mostEpsilon] the largest epsilon that a plan may ask for; 4 unless it is given
 * @property {number} [mostReportBytes] the longest report in bytes; 4,096 unless it is given
 * @property {number} [mostItems] the largest number of items; 100,000 unless it is given
 * @property {boolean} [needsOther] whether plans without a catch-all item are refused
 */

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
 * @property {unknown} [size] the number of items
 * @property {unknown} [other] the catch-all item
 * @property {number} [reportBytes]
 * @property {number} [rounds] of drawing, one after the other
 */

/**
 * Refuse a plan that asks for more than the limits, and limits that cannot be.
 * @param {Demands} demands
 * @param {Limits} limits
 */
export function checkDemands(demands, { mostEpsilon = 4, mostReportBytes = 4096, mostItems = 100_000, needsOther }) {
  if (!isEpsilon(mostEpsilon)) throw new InvalidInputError("mostEpsilon must be a number above 0 and at most 16");
  checkWhole(InvalidInputError, "mostReportBytes", mostReportBytes, MOST_REPORT_BYTES);
  checkWhole(InvalidInputError, "mostItems", mostItems, LARGEST_SIZE);
  const { epsilon, size, other, reportBytes = 0, rounds = 0 } = demands;
  const compare = (/** @type {number} */ asked, /** @type {number} */ most, /** @type {string} */ words) => {
    if (asked > most) throw new PlanLimitError(`this plan ${words}, and this device gives at most ${most}`);
  };
  if (isEpsilon(epsilon)) compare(epsilon, mostEpsilon, `asks for epsilon ${epsilon}`);
  if (isWhole(size, 0, LARGEST_SIZE)) compare(size, mostItems, `has ${size} items`);
  compare(reportBytes, mostReportBytes, `has reports of ${reportBytes} bytes`);
  compare(rounds, MOST_ROUNDS, `has reports of ${rounds} rounds`);
  if (needsOther && other === undefined) throw new PlanLimitError(NO_OTHER);
}
