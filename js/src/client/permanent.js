// A device under a plan: it may be asked again and again, answers from permanent responses, and pays for each value once.

import { toHex, fromHex } from "../hex.js";
import { MOST_REMEMBERED } from "../numbers.js";
import { freshWords, keyedWords } from "../random.js";
import { BudgetError } from "./errors.js";
import { freshId } from "./outbox.js";
import { isOver } from "./periods.js";

/** @typedef {import("./client.js").Parts} Parts */
/** @typedef {import("./client.js").Value} Value */
/** @typedef {import("./periods.js").Every} Every */

export class Permanent {
  /** @type {import("../plan.js").Plan} */ #plan;
  /** @type {Parts} */ #parts;
  /** @type {Map<string, Uint8Array>} */ #responses = new Map();
  #words = freshWords();

  /**
   * @param {import("../plan.js").Plan} plan
   * @param {Parts} parts
   */
  constructor(plan, parts) {
    this.#plan = plan;
    this.#parts = parts;
  }

  /**
   * @param {Value} value
   * @param {string} [_document] which a study has
   */
  async report(value, _document) {
    return this.#batch(await this.#response(value));
  }

  /**
   * @param {Value} value
   * @param {string} [_document]
   * @param {number} [wording]
   */
  async send(value, _document, wording) {
    const { _diary: diary, _outbox: outbox, _title: title } = this.#parts;
    const { fingerprint, epsilon } = this.#plan;
    await outbox._checkRoom();
    const body = toHex(await this.report(value));
    await diary.change((pages) => {
      const sent = (pages.sent ??= {});
      return isOver("day", sent[fingerprint]?.at ?? 0) && (sent[fingerprint] = { at: Date.now(), title, epsilon }); // once a day will do
    });
    await outbox.put(body, freshId(), wording);
    return true;
  }

  /**
   * Make one answer in a period. What an answer waits for is that the period begins, and never the value. So the first value
   * counts, and a device that has no budget for a new one gives its last answer once more.
   * @param {Value} value
   * @param {Every | undefined} every
   * @param {string} [_document]
   * @param {number} [wording]
   */
  async sendOnce(value, every, _document, wording) {
    const { _diary: diary, _outbox: outbox, _title: title } = this.#parts;
    const { fingerprint, epsilon } = this.#plan;
    this.#plan.index(value); // a value that cannot be reported is an error, whether or not there was an answer before
    let { answers } = await diary.read();
    let known = answers[fingerprint];
    if (!known || isOver(every, known.at)) {
      await outbox._checkRoom();
      const response = await this.#response(value).catch((error) => {
        if (!known?.last || !(error instanceof BudgetError)) throw error;
        return fromHex(known.last);
      });
      const made = { at: Date.now(), id: freshId(), body: toHex(this.#batch(response)), last: toHex(response), title, epsilon, wording };
      ({ answers } = await diary.change((pages) => {
        const now = pages.answers[fingerprint];
        if (now && !isOver(every, now.at)) return false; // another tab was faster
        pages.answers[fingerprint] = made;
        delete pages.sent?.[fingerprint]; // the answer is the later of the two
        return true;
      }));
      known = answers[fingerprint];
    }
    if (known.body) {
      await outbox.put(known.body, /** @type {string} */ (known.id), known.wording);
      await diary.change((pages) => {
        const now = pages.answers[fingerprint];
        return now?.id === known.id && delete now.body;
      });
    }
    return true;
  }

  /** @param {Every | undefined} every */
  async answered(every) {
    const known = (await this.#parts._diary.read()).answers[this.#plan.fingerprint];
    return !!known && !known.body && !isOver(every, known.at);
  }

  forget() {
    this.#responses.clear();
  }

  /** The route to which reports are sent. */
  async route() {
    return `/v1/plans/${this.#plan.fingerprint}/reports`;
  }

  /**
   * The permanent response to a value, once it is paid for.
   * @param {Value} value
   */
  async #response(value) {
    const held = this.#plan.index(value);
    const name = `${held}`;
    let response = this.#responses.get(name);
    if (!response) {
      response = this.#plan.permanent(held, keyedWords(await this.#parts._device.key(this.#plan, held)));
      if (this.#responses.size >= MOST_REMEMBERED) this.#responses.clear();
      this.#responses.set(name, response);
    }
    return response;
  }

  /** @param {Uint8Array} response */
  #batch(response) {
    return this.#plan.batch(this.#plan.perturbsAgain ? this.#plan.again(response, this.#words) : response);
  }
}
