// The plan that devices, the collector and the analyst share: which items there are, and how values are protected.

import { headerOfOne } from "./batch.js";
import { byteLength } from "./bitstrings.js";
import { canonical, countKeys, isObject } from "./canonical_json.js";
import { Domain } from "./domain.js";
import { InvalidInputError, LocalDPError, PlanError, WireError } from "./errors.js";
import { isAbove, logRoundedUp } from "./exact.js";
import { toHex } from "./hex.js";
import { isSet, readSet } from "./item_sets.js";
import { checkDemands, isEpsilon } from "./limits.js";
import { MECHANISMS, SET_MECHANISMS } from "./mechanisms/index.js";
import { MOST_HELD } from "./numbers.js";
import { joined, sha256 } from "./sha256.js";
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
  /** @type {Domain} */ #domain;
  /** @type {Mechanism} */ #mechanism;
  /** @type {Uint8Array} */ #header;

  /**
   * @param {string} text in canonical JSON
   * @param {Domain} domain
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
    this.fingerprint = toHex(sha256(new TextEncoder().encode(text)));
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
   * @returns {Plan}
   */
  static parse(json, limits = {}) {
    try {
      const document = JSON.parse(json);
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
    return this.setSize ? readSet(value, this.#domain) : this.#domain.index(value);
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
        `indices are whole numbers from 0 to ${this.size - 1}, those of a set in ascending order`,
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
      throw new WireError("nonzero-padding", `a report has bits set past the last of its ${this.#mechanism._bits} bits`);
    }
    this.#mechanism._check?.(report);
  }
}

/**
 * The plan that a JSON value describes.
 * @param {any} document
 * @param {string} text its canonical text
 */
function read(document, text) {
  if (!isObject(document) || document.format !== FORMAT) {
    throw new PlanError(`this is not a plan: a plan is a JSON object with "format": "${FORMAT}"`);
  }
  const domain = new Domain(document.domain);
  const { mechanism: name, epsilon, once = epsilon, answers, set_size: setSize } = /** @type {any} */ (document);
  const holdsSets = setSize !== undefined;
  if (holdsSets) checkWhole(PlanError, "set_size", setSize, MOST_HELD);
  const make = (holdsSets ? SET_MECHANISMS : MECHANISMS).get(name);
  if (!make) throw new PlanError("this plan cannot be used: its mechanism is not supported here");
  if (!isEpsilon(epsilon) || !isEpsilon(once)) {
    throw new PlanError("this plan cannot be used: epsilon must be a number above 0 and at most 16");
  }
  const isChain = name.includes("+");
  if (isChain && once >= epsilon) throw new PlanError("this plan cannot be used: once must be below epsilon");
  const mechanism = make({ size: domain.size, epsilon, once, answers, setSize });
  // The ratio of one report of a chain is 1 if the other one is.
  if (!isAbove(mechanism._ratioOnce ?? mechanism._ratio, [1n, 1n])) {
    throw new PlanError("this plan cannot be used: its epsilon is so small that reports would not depend on the item");
  }
  const derived = {
    format: FORMAT,
    domain: 0,
    mechanism: name,
    epsilon,
    width: 64,
    parameters: mechanism._parameters,
    ...(isChain && { once }),
    ...(name === "dbit" && { answers }),
    ...(holdsSets && { set_size: setSize }),
  };
  if (canonical({ ...document, domain: 0 }) !== canonical(derived)) {
    throw new PlanError("this plan was altered: it is not what its domain, mechanism and epsilon give");
  }
  return new Plan(text, domain, name, mechanism, setSize);
}

/**
 * Refuse a text with something that `JSON.parse` reads over: a key that is there twice, or 2.0 where a whole number
 * belongs.
 * @param {string} json
 * @param {any} document
 */
function checkText(json, document) {
  const keys = [document, document?.domain, document?.parameters].flatMap((part) => Object.keys(part ?? {}));
  if (countKeys(json) > keys.length) throw new PlanError("this is not a plan: it has a key twice, or too many");
  const ofNumbers = document?.domain?.items ? "" : "|size|other";
  if (new RegExp(`"(answers|set_size${ofNumbers})"\\s*:\\s*\\d+[.eE]`).test(json))
    throw new PlanError("this is not a plan: a number in it must be written as a whole number");
}
