// A study: a form that devices know beforehand, and parts that are answered by disjoint people, each device once. Its documents
// are read as collectors serve them, in canonical JSON.

import { canonical, isObject } from "../canonical_json.js";
import { LocalDPError, PlanError, PlanLimitError } from "../errors.js";
import { checkDemands, isEpsilon } from "../limits.js";
import { LARGEST_SIZE } from "../numbers.js";
import { Plan } from "../plan.js";
import { fingerprintOf } from "../sha256.js";
import { discovery } from "./discovery.js";
import { questionnaire } from "./questionnaire.js";
import { survey } from "./survey.js";

/** @typedef {import("../limits.js").Limits} Limits */

/**
 * A part: its document's fingerprint, the plan that it counts, the places from `_first` up to `_end` that it asks, and how a value
 * becomes what the plan counts.
 * @typedef {object} Part
 * @property {string} _fingerprint
 * @property {Plan} _plan
 * @property {number} _first
 * @property {number} _end
 * @property {(value: any) => import("../plan.js").Held} _read
 */
/**
 * What a kind of study makes of its document: what it is called, the number of its places and the label of their key, and the part in a document.
 * @typedef {object} Kind
 * @property {string} _what
 * @property {number} _places
 * @property {string} _label
 * @property {number} [_size] the number of items
 * @property {unknown} [_other] the catch-all item
 * @property {(place: number) => string | undefined} [_at] the document of the part that asks a place, if the study alone tells it
 * @property {(document: any, fingerprint: string, plan: Plan, text: string) => Omit<Part, "_fingerprint" | "_plan">} _part
 */
/** @typedef {Kind & { fingerprint: string, epsilon: number, part(json: string): Part }} Study */

/** @type {Map<unknown, (document: any, fingerprint: string) => Kind>} */
const KINDS = new Map([
  ["localdp-discovery/1", discovery],
  ["localdp-sets/1", survey],
  ["localdp-questionnaire/1", questionnaire],
]);

/**
 * The plan or the study that a document describes.
 * @param {string} json
 * @param {Limits} limits
 * @returns {Plan | Study}
 */
export function readStudy(json, limits) {
  const document = parsed(json);
  const read = isObject(document) && KINDS.get(document.format);
  if (!read) return Plan.parse(json, limits, document);
  const epsilon = /** @type {any} */ (document).epsilon;
  const fingerprint = fingerprintOf(json);
  const kind = whole("study", () => {
    need(canonical(document) === json, isEpsilon(epsilon));
    return read(document, fingerprint);
  });
  checkDemands({ epsilon, size: kind._size, other: kind._size ? kind._other : 0 }, limits);
  return {
    ...kind,
    fingerprint,
    epsilon,
    part: (text) => {
      const part = parsed(text);
      return whole("part", () => {
        need(isObject(part), canonical(part) === text);
        // A device pays what the study says. Parts may have more cells than a plan has items.
        const plan = Plan.parse(canonical(part.plan ?? part), { ...limits, mostEpsilon: epsilon, mostItems: LARGEST_SIZE, needsOther: false });
        if (plan.epsilon > epsilon) throw new PlanLimitError("a part asks for more epsilon than the study");
        return { ...kind._part(part, fingerprint, plan, text), _fingerprint: fingerprintOf(text), _plan: plan };
      });
    },
  };
}

/** @param {any} json */
export function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** @param {string} what */
const altered = (what) => new PlanError(`this is not a ${what}, or it was altered`);

/**
 * What a function reads in a document; a document of another shape, or one that is nested too deeply, is a `PlanError`.
 * @template T
 * @param {string} what
 * @param {() => T} read
 * @returns {T}
 */
function whole(what, read) {
  try {
    return read();
  } catch (error) {
    throw error instanceof LocalDPError ? error : altered(what);
  }
}

/**
 * Refuse a document unless all of this holds.
 * @param {...unknown} facts
 */
export function need(...facts) {
  if (!facts.every(Boolean)) throw altered("document of a study");
}
