// The plan that devices, the collector and the analyst share: which items there are, and how values are protected.

import { headerOfOne } from "./batch.js";
import { byteLength } from "./bitstrings.js";
import { canonical, countKeys, isObject } from "./canonical_json.js";
import { Domain, HALF_CHARACTER } from "./domain.js";
import { InvalidInputError, LocalDPError, PlanError, unusable, WireError } from "./errors.js";
import { isAbove, logRoundedUp } from "./exact.js";
import { isSet, readSet } from "./item_sets.js";
import { checkDemands, isEpsilon } from "./limits.js";
import { MECHANISMS, SET_MECHANISMS } from "./mechanisms/index.js";
import { LONGEST_NAME, MOST_HELD } from "./numbers.js";
import { Scale } from "./scale.js";
import { fingerprintOf, joined } from "./sha256.js";
import { checkWhole, isWhole } from "./whole.js";

/** @typedef {import("./domain.js").Item} Item */
/** @typedef {import("./limits.js").Limits} Limits */
/** @typedef {import("./mechanisms/mechanism.js").Mechanism<any>} Mechanism */
/** @typedef {import("./mechanisms/mechanism.js").Ratio} Ratio */
/** @typedef {import("./random.js").Words} Words */

/**
 * The index of an item, or under a plan with sets the indices of all items, in ascending order.
 * @typedef {number | number[]} Held
 */

const FORMAT = "localdp-plan/1";

/** A plan, checked. It cannot be changed. Make one with `Plan.parse`. */
export class Plan {
  /** @type {Domain | Scale} */ #domain;
  /** @type {Mechanism} */ #mechanism;
  /** @type {Uint8Array} */ #header;

  /**
   * @param {string} text in canonical JSON
   * @param {Domain | Scale} domain
   * @param {string} name
   * @param {Mechanism} mechanism
   * @param {number | undefined} setSize
   */
  constructor(text, domain, name, mechanism, setSize) {
    this.#domain = domain;
    this.#mechanism = mechanism;
    /** The name of the mechanism. */
    this.mechanism = name;
    /** The SHA-256 of the plan's canonical JSON, in hex. Batches of reports carry it. */
    this.fingerprint = fingerprintOf(text);
    this.#header = headerOfOne(this.fingerprint);
    /** The realised privacy budget: what all reports reveal together that are made from one permanent response. */
    this.epsilon = logRoundedUp(mechanism._ratio);
    /** The realised privacy budget of one report alone. It is smaller than `epsilon` if `perturbsAgain`. */
    this.epsilonOnce = logRoundedUp(mechanism._ratioOnce ?? mechanism._ratio);
    /** Whether every report perturbs the permanent response once more. */
    this.perturbsAgain = !!mechanism._again;
    /** The number of items. */
    this.size = domain.size;
    /** The items; undefined if they are the numbers 0 to size - 1. */
    this.items = domain.items;
    /** The catch-all item, which stands for every value that is not listed; undefined if there is none. */
    this.other = domain.other;
    /** If every user holds a set of items: sets of up to this many are counted right. Otherwise undefined. */
    this.setSize = setSize;
    /** The length of a report. */
    this.reportBytes = byteLength(mechanism._bits);
    Object.freeze(this);
  }

  /**
   * Read a plan, as the Python library writes it; spaces and line breaks may differ.
   *
   * The parameters are derived again from the domain, the mechanism and epsilon. A plan that claims other parameters
   * is a `PlanError`, because it might protect less than its epsilon says. A plan that asks for more than the limits
   * is a `PlanLimitError`.
   * @param {string} json
   * @param {Limits} [limits]
   * @param {any} [document] what `JSON.parse` makes of it, if that is known
   * @returns {Plan}
   */
  static parse(json, limits = {}, document = undefined) {
    try {
      document ??= JSON.parse(json);
      const text = canonical(document);
      if (text !== json) checkText(json, document); // most plans come in canonical form, which hides nothing
      if (isObject(document?.domain)) {
        const { items, size, other } = document.domain; // too many items are refused before anything is derived from them
        checkDemands({ epsilon: document.epsilon, other, size: items?.length ?? size }, limits);
      }
      const plan = read(document, text);
      checkDemands({ ...plan, rounds: plan.#mechanism._rounds }, limits);
      return plan;
    } catch (error) {
      throw error instanceof LocalDPError ? error : new PlanError("this is not a plan: it is not text in JSON");
    }
  }

  /**
   * The index of a value; that of the catch-all item for a value that is not listed. Without a catch-all item, such a
   * value is an `UnknownItemError`. With `setSize`, the value is a list of items, perhaps an empty one. Then it is the
   * list of their indices, in ascending order and each of them once.
   * @param {unknown} value
   * @returns {Held}
   */
  index(value) {
    return this.setSize ? readSet(value, /** @type {Domain} */ (this.#domain)) : this.#domain.index(value);
  }

  /**
   * The permanent response to what `index` gives. Unless `perturbsAgain`, it is the report itself. As many words are
   * drawn for every item or set, and no branch depends on it.
   * @param {Held} held
   * @param {Words} words
   */
  permanent(held, words) {
    if (!(this.setSize ? isSet(held, this.size) : isWhole(held, 0, this.size - 1))) {
      throw new InvalidInputError(
        `indices are whole numbers below ${this.size}`,
      );
    }
    return this.#mechanism._permanent(held, words);
  }

  /**
   * A report from a permanent response. The words must be fresh ones every time.
   * @param {Uint8Array} response
   * @param {Words} words
   */
  again(response, words) {
    const checked = Uint8Array.from(response); // a copy, which nobody changes after the check
    this.check(checked);
    return this.#mechanism._again ? this.#mechanism._again(checked, words) : checked;
  }

  /**
   * A batch of one report, as it is sent.
   * @param {Uint8Array} report
   */
  batch(report) {
    this.check(report);
    return joined(this.#header, report);
  }

  /**
   * Refuse bytes that have another length than a report, bits set past its last one, or an item that is not there: a
   * `WireError` with a `code`.
   * @param {Uint8Array} report
   */
  check(report) {
    if (report.length !== this.reportBytes) {
      throw new WireError("wrong-length", `a report is ${report.length} bytes long, not ${this.reportBytes}`);
    }
    const used = this.#mechanism._bits % 8;
    if (used && report[report.length - 1] >> used) {
      throw new WireError("nonzero-padding", "a report has bits set past its last one");
    }
    this.#mechanism._check?.(report);
  }
}

/**
 * The items and the mechanism that a document asks for.
 * @param {any} document
 */
function derive(document) {
  const { question } = document;
  const domain = isObject(question) ? new Scale(question) : new Domain(document.domain);
  const { mechanism: name, epsilon, once = epsilon, answers, set_size: setSize, part } = /** @type {any} */ (document);
  if ("part" in document) checkPart(part);
  const holdsSets = setSize !== undefined;
  if (holdsSets) checkWhole(PlanError, "set_size", setSize, MOST_HELD);
  const make = (holdsSets ? SET_MECHANISMS : MECHANISMS).get(name);
  if (!make) throw unusable("its mechanism is not supported here");
  if (!isEpsilon(epsilon) || !isEpsilon(once)) {
    throw unusable("epsilon must be a number above 0 and at most 16");
  }
  const ordered = name === "wave" ? { ordered: /** @type {any} */ (domain)._ordered } : {}; // wave says how many cells have an order
  const isChain = name.includes("+");
  if (isChain && once >= epsilon) throw unusable("once must be below epsilon");
  const mechanism = make({ size: domain.size, epsilon, once, answers, setSize, ...ordered });
  // The ratio of one report of a chain is 1 if the other one is.
  if (!isAbove(mechanism._ratioOnce ?? mechanism._ratio, [1n, 1n])) {
    throw unusable("its epsilon is too small");
  }
  const derived = {
    format: FORMAT,
    ...(isObject(question) ? { question } : { domain: document.domain }),
    mechanism: name,
    epsilon,
    width: 64,
    parameters: mechanism._parameters,
    ...ordered,
    ...(isChain && { once }),
    ...(name === "dbit" && { answers }),
    ...(holdsSets && { set_size: setSize }),
    ...(part && { part: { study: part.study, name: part.name } }),
  };
  return { domain, mechanism, derived };
}

/**
 * The text of a plan, from what it asks for: its parameters are derived.
 * @param {object} asked
 */
export const planText = (asked) => canonical({ ...derive(asked).derived, ...asked });

/**
 * The text of a plan without its items, which are taken over as they are: writing thousands of them again takes a while.
 * @param {any} plan
 */
const bare = (plan) => canonical({ ...plan, domain: "domain" in plan });

/**
 * The plan that a JSON value describes.
 * @param {any} document
 * @param {string} text its canonical text
 */
function read(document, text) {
  if (!isObject(document) || document.format !== FORMAT) {
    throw new PlanError(`this is not a plan: it is not ${FORMAT}`);
  }
  const { domain, mechanism, derived } = derive(document);
  const { question, mechanism: name, set_size: setSize } = /** @type {any} */ (document);
  if (bare(derived) !== bare(document) || (setSize && question)) {
    throw new PlanError("this plan was altered: it is not what its epsilon gives");
  }
  return new Plan(text, domain, name, mechanism, setSize);
}

/**
 * Refuse a key of the part that a plan is in a study, unless it is the study's fingerprint and a name.
 * @param {any} part
 */
function checkPart(part) {
  const { study, name } = isObject(part) ? part : {};
  const isName = typeof name === "string" && name && [...name].length <= LONGEST_NAME && !HALF_CHARACTER.test(name);
  if (!isName || typeof study !== "string" || !/^[0-9a-f]{64}$/.test(study)) {
    throw unusable("its part is misshapen");
  }
}

/**
 * Refuse a text with something that `JSON.parse` reads over: a key that is there twice, or 2.0 where a whole number
 * belongs.
 * @param {string} json
 * @param {any} document
 */
function checkText(json, document) {
  const parts = [document, document?.domain, document?.parameters, document?.part, document?.question];
  const keys = parts.flatMap((part) => Object.keys(part ?? {}));
  const ofNumbers = document?.domain?.items ? "" : "|size|other";
  if (countKeys(json) > keys.length || new RegExp(`"(answers|set_size|ordered${ofNumbers})"\\s*:\\s*\\d+[.eE]`).test(json))
    throw new PlanError("this is not a plan: a key or a number is misshapen");
}
