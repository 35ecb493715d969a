// What a device does for one report, at most. A plan comes from somebody else: it can be valid and still ask for too
// much.

import { isObject } from "./canonical_json.js";
import { LARGEST_SIZE } from "./domain.js";
import { InvalidInputError, PlanLimitError } from "./errors.js";
import { checkWhole } from "./whole.js";

export const LARGEST_EPSILON = 16;
const MOST_REPORT_BYTES = 2 ** 24;
const MOST_ROUNDS = 2 ** 17;

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
 * Refuse what can be refused before anything is derived from the plan.
 * @param {unknown} document
 * @param {Required<Limits>} limits
 */
export function checkDocument(document, limits) {
  if (!isObject(document) || !isObject(document.domain)) return; // it is not a plan, as the next step will say
  const { items } = document.domain;
  if (Array.isArray(items)) checkSize(items.length, limits);
  if (isEpsilon(document.epsilon) && document.epsilon > limits.mostEpsilon) {
    throw new PlanLimitError(
      `this plan asks for epsilon ${document.epsilon}, and this device gives at most ${limits.mostEpsilon}`,
    );
  }
  if (limits.needsOther && !("other" in document.domain)) {
    throw new PlanLimitError("this plan has no catch-all item: to stay silent would tell that a value is not listed");
  }
}

/**
 * @param {number} size
 * @param {Required<Limits>} limits
 */
export function checkSize(size, limits) {
  if (size > limits.mostItems) {
    throw new PlanLimitError(`this plan has ${size} items, and this device gives at most ${limits.mostItems}`);
  }
}

/**
 * @param {number} bytes
 * @param {number} rounds
 * @param {Required<Limits>} limits
 */
export function checkReport(bytes, rounds, limits) {
  if (bytes > limits.mostReportBytes) {
    throw new PlanLimitError(
      `this plan has reports of ${bytes} bytes, and this device gives at most ${limits.mostReportBytes}`,
    );
  }
  if (rounds > MOST_ROUNDS) {
    throw new PlanLimitError(`this plan has reports of ${rounds} rounds, and this device gives at most ${MOST_ROUNDS}`);
  }
}
