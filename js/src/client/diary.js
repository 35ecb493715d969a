// What a device remembers of its answers, in one record of its store: which plans and studies it has answered and when, the
// answers that are not in the outbox yet, whether its owner wants to be asked at all, and what was spent before this period.
//
//     offset  bytes  content
//     0       8      "LDPDIA1\n"
//     8       ..     JSON: see `Pages`
//     ..      32     the SHA-256 of everything before
//
// There are no values in it.

import { StoreError } from "./errors.js";
import { sealedJson, unsealedJson } from "./sealed.js";

const NAME = "LDPDIA1\n";

/**
 * One answer: when it was made; its upload id, its batch and the permanent response that it was made from, in hex; whether it was
 * put into the outbox; in a study, the fingerprint of the part's document; for its owner, what was asked and what it spent.
 * @typedef {object} Entry
 * @property {number} at in milliseconds
 * @property {string} [id]
 * @property {string} [body]
 * @property {string} [last]
 * @property {boolean} [posted]
 * @property {string} [part]
 * @property {string} [title]
 * @property {number} epsilon
 * @property {number} [wording] the version of the wording that its person was shown
 */
/**
 * Answers by the fingerprint of the plan or study, when `send` was last used under a plan (to the day), whether the owner opted
 * out, and what was spent before the period `at`.
 * @typedef {{ title?: string | undefined, epsilon: number, at: number }} Sent
 * @typedef {{ answers: Record<string, Entry>, sent?: Record<string, Sent>, out?: boolean, before?: { every: string, at: number, spent: number } }} Pages
 */

export class Diary {
  /** @type {import("./store.js").Store} */ #store;

  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.#store = store;
  }

  /** What it holds now. */
  read() {
    return this.change(() => false);
  }

  /**
   * @param {(pages: Pages) => unknown} update changes the pages, and says whether they are to be written
   * @returns {Promise<Pages>}
   */
  async change(update) {
    /** @type {Pages} */
    let pages = { answers: {} };
    await this.#store.change("diary", (bytes) => {
      pages = bytes ? unsealedJson(NAME, bytes) : { answers: {} };
      if (!pages) {
        throw new StoreError("what this device has stored of its answers is damaged, so it reports nothing");
      }
      return update(pages) ? sealedJson(NAME, pages) : undefined;
    });
    return pages;
  }
}
