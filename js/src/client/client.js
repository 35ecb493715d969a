// A device that is asked for its value, perhaps again and again, and answers within a budget.

import { InvalidInputError } from "../errors.js";
import { checkDemands } from "../limits.js";
import { MOST_REMEMBERED } from "../numbers.js";
import { Plan } from "../plan.js";
import { freshWords, keyedWords } from "../random.js";
import { browserStore } from "./browser_store.js";
import { Device } from "./device.js";
import { Outbox } from "./outbox.js";
import { explained } from "./store.js";
import { byHttp } from "./upload.js";

/**
 * An item, or under a plan with sets a list of items.
 * @typedef {import("../domain.js").Item | Iterable<import("../domain.js").Item>} Value
 */

/**
 * @typedef {object} OwnOptions
 * @property {import("./store.js").Store} [store] where the secret and the payments are kept; in a browser: IndexedDB
 * @property {number} [most] the cap: what this device spends at most, under all plans of its store together; 8
 * @property {string | import("./upload.js").Upload} [upload] the address of the collector, or a function that sends
 * @property {string} [token] sent with every upload, if the collector wants one
 * @property {number} [mostWaiting] how many reports may wait to be sent; 100
 * @property {"refuse" | "forget"} [withoutStorage] what happens on a page that the browser gives no storage: "refuse" (no report,
 *   a `StorageBlockedError`) or "forget" (every time the page is loaded, it is a new device, which spends epsilon anew)
 *
 * @typedef {OwnOptions & import("../limits.js").Limits} ClientOptions
 */

/**
 * One device: `await client.report(value)` gives a batch of one report, as bytes, to be sent to the collector.
 *
 * Asked again for the same value, the device makes its report from the same permanent response, so a value spends the plan's
 * epsilon once. Every other value spends it again, until the cap `most` is reached; then new values are a `BudgetError`. What is
 * spent is stored before a report is given out. Losing the store makes a new device.
 */
export class Client {
  /** @type {Device} */ #device;
  /** @type {Outbox} */ #outbox;
  /** @type {import("./upload.js").Upload | undefined} */ #upload;
  /** @type {Map<string, Uint8Array>} */ #responses = new Map();
  #words = freshWords();
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #closing = new AbortController();

  /**
   * @param {Plan | string} plan a plan, or its JSON as it came from the collector
   * @param {ClientOptions} [options]
   */
  constructor(plan, options = {}) {
    const { most = 8, upload, token, mostWaiting = 100, withoutStorage } = options;
    /** The plan, as it was accepted. */
    this.plan = plan instanceof Plan ? plan : Plan.parse(plan, options);
    checkDemands(this.plan, options);
    /** The cap: what this device spends at most. */
    this.most = most;
    const store = explained(options.store ?? browserStore(withoutStorage === "forget"));
    this.#device = new Device(store, most);
    this.#outbox = new Outbox(store, this.plan.fingerprint, mostWaiting);
    this.#upload = typeof upload === "string" ? byHttp(upload, this.plan.fingerprint, token) : upload;
    if (upload !== undefined && typeof this.#upload !== "function") {
      throw new InvalidInputError(`upload is an address or a function, not ${typeof upload}`);
    }
    Object.freeze(this); // responses in memory belong to this plan
    if (this.#upload && globalThis.document) this.#listen();
  }

  /** The epsilon that this device has spent, under all plans of its store, through this and other pages. */
  spent() {
    return this.#device.spent();
  }

  /** The number of reports that wait to be sent. */
  waiting() {
    return this.#outbox.waiting();
  }

  /**
   * A batch of one report, in the wire format. What it spends is stored before this is fulfilled. A new value that the
   * device has no budget for is a `BudgetError`, a store that cannot be read or written a `StoreError`. Under a plan with
   * `setSize`, the value is a list of items, and every other set is a new value.
   * @param {Value} value
   * @returns {Promise<Uint8Array>}
   */
  async report(value) {
    const held = this.plan.index(value);
    const name = `${held}`;
    let response = this.#responses.get(name);
    if (!response) {
      response = this.plan.permanent(held, keyedWords(await this.#device.key(this.plan, held)));
      if (this.#responses.size >= MOST_REMEMBERED) this.#responses.clear();
      this.#responses.set(name, response);
    }
    return this.plan.batch(this.plan.perturbsAgain ? this.plan.again(response, this.#words) : response);
  }

  /**
   * Make a report, store it until it is delivered, and try to send what is waiting. Without a network it waits for the end of a
   * pause, or for the next visit. An `OutboxFullError` says that too many reports wait already; then nothing is spent.
   * @param {Value} value
   */
  async send(value) {
    this.#neededUpload();
    await this.#outbox.checkRoom();
    await this.#outbox.put(await this.report(value));
    return this.flush();
  }

  /** Try to send what is waiting, unless a pause after a failure is not over yet. */
  async flush() {
    const done = await this.#outbox.flush(this.#neededUpload());
    clearTimeout(this.#timer);
    if (done.waiting && !this.#closing.signal.aborted) {
      this.#timer = setTimeout(this.#flushQuietly, 1000 * done.pause + 1);
      /** @type {any} */ (this.#timer).unref?.(); // Node need not stay for this
    }
    return done;
  }

  /** Try nothing more by itself. What is waiting stays in the store. */
  close() {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  /** Send what is waiting whenever the page is shown or hidden, or the network comes back. */
  #listen() {
    // A visibilitychange of the document reaches the window too.
    for (const event of ["visibilitychange", "pageshow", "online"]) addEventListener(event, this.#flushQuietly, this.#closing);
    this.#flushQuietly(); // what an earlier visit left
  }

  #flushQuietly = () => {
    this.flush().catch(() => {}); // nobody is there to hear of it, and the reports stay where they are
  };

  #neededUpload() {
    if (!this.#upload) throw new InvalidInputError("this client does not know where to send reports: it needs the option upload");
    return this.#upload;
  }
}
