// A device that is asked for its value, perhaps again and again, and answers within a budget.

import { InvalidInputError, LocalDPError, PlanMismatchError } from "../errors.js";
import { checkDemands } from "../limits.js";
import { LAST_WORDING } from "../numbers.js";
import { Plan } from "../plan.js";
import { fingerprintSoon } from "../sha256.js";
import { parsed, readStudy } from "../studies/study.js";
import { checkWhole } from "../whole.js";
import { browserStore } from "./browser_store.js";
import { Device } from "./device.js";
import { Diary } from "./diary.js";
import { OptedOutError } from "./errors.js";
import { OnePart } from "./one_part.js";
import { Outbox } from "./outbox.js";
import { periodOf } from "./periods.js";
import { Permanent } from "./permanent.js";
import { explained } from "./store.js";
import { inTurn } from "./turns.js";
import { byHttp, inWords, isDelivered, request } from "./upload.js";

/**
 * An item; a list of items, under a plan with sets and in a survey of sets; a text or a key, in a discovery.
 * @typedef {import("../domain.js").Item | bigint | null | Iterable<import("../domain.js").Item>} Value
 */
/** @typedef {import("./periods.js").Every} Every */
/** @typedef {import("./outbox.js").Delivery} Delivery */

/**
 * What the two ways to answer use.
 * @typedef {object} Parts
 * @property {Device} _device
 * @property {Diary} _diary
 * @property {Outbox} _outbox
 * @property {string | undefined} _title
 * @property {(route: string) => Promise<string | { trouble: string }>} _fetch gets a document from the collector
 */

/**
 * @typedef {object} OwnOptions
 * @property {import("./store.js").Store} [store] where the secret and the payments are kept; in a browser: IndexedDB
 * @property {number} [most] the cap: what this device spends at most, under all plans of its store together; 8
 * @property {Every} [mostEvery] the cap holds for each of these periods, instead of for ever
 * @property {string | import("./upload.js").Upload} [upload] the address of the collector, or a function that sends
 * @property {string} [token] sent with every upload, if the collector wants one
 * @property {string} [segment] a label of this device that the collection lists, sent in the clear
 * @property {string} [title] what is asked, for `learnt`
 * @property {number} [mostWaiting] how many reports may wait to be sent; 100
 * @property {"refuse" | "forget"} [withoutStorage] what happens on a page that the browser gives no storage: "refuse" (no report,
 *   a `StorageBlockedError`) or "forget" (every time the page is loaded, it is a new device, which spends epsilon anew)
 *
 * @typedef {OwnOptions & import("../limits.js").Limits} ClientOptions
 */

/**
 * One device: `await client.sendOnce(value)` sends one report of it, however often it is called.
 *
 * Under a plan, a device that is asked again for the same value makes its report from the same permanent response, so a value spends the
 * plan's epsilon once. Every other value spends it again, until the cap `most` is reached; then new values are a `BudgetError`. What is
 * spent is stored before a report is given out. Losing the store makes a new device.
 *
 * A study with several parts asks each device in one of them, and once.
 */
export class Client {
  /** @type {Permanent | OnePart} */ #answers;
  /** @type {Parts} */ #parts;
  /** @type {import("./store.js").Store} */ #store;
  /** @type {string | import("./upload.js").Upload | undefined} */ #upload;
  /** What sends to a route. @type {(route: string) => any} */ #way;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #closing = new AbortController();

  /**
   * @param {Plan | string} plan a plan, or the JSON of a plan or a study as it came from the collector
   * @param {ClientOptions} [options]
   */
  constructor(plan, options = {}) {
    const { most = 8, mostEvery, upload, token, segment, title, mostWaiting = 100, withoutStorage } = options;
    const study = plan instanceof Plan ? plan : readStudy(plan, options);
    /** The plan, as it was accepted; undefined in a study with several parts. */
    this.plan = study instanceof Plan ? study : undefined;
    if (this.plan) checkDemands(this.plan, options);
    /** The document, if the client was made from one. */
    this.document = plan instanceof Plan ? "" : plan;
    /** The fingerprint of the plan or of the study. */
    this.fingerprint = study.fingerprint;
    /** What an answer spends. */
    this.epsilon = study.epsilon;
    /** The cap: what this device spends at most. */
    this.most = most;
    /** The period that the cap holds for; undefined if it holds for ever. */
    this.mostEvery = mostEvery;
    const store = (this.#store = explained(options.store ?? browserStore(withoutStorage === "forget")));
    const diary = new Diary(store);
    this.#parts = {
      _device: new Device(store, diary, most, mostEvery),
      _diary: diary,
      _outbox: new Outbox(store, this.fingerprint, mostWaiting),
      _title: title,
      _fetch: (route) => this.#fetched(route),
    };
    this.#upload = upload;
    if (upload !== undefined && typeof upload !== "function" && typeof upload !== "string") {
      throw new InvalidInputError("upload is an address or a function");
    }
    this.#way = (route) => (typeof upload === "string" ? byHttp(upload, route, token, segment) : upload);
    this.#way("/"); // an address that cannot be used is refused at once
    this.#answers = new (this.plan ? Permanent : OnePart)(/** @type {any} */ (study), this.#parts);
    Object.freeze(this); // responses in memory belong to this plan
    if (upload && globalThis.document) this.#listen();
  }

  /**
   * A client of the plan or study at an address of a collector, such as "https://collector.example/v1/plans/<fingerprint>". Its reports go
   * to that collector. If the plan is not there, the error says why. Where the address ends with a fingerprint, or with its first 16 digits,
   * another plan than that is refused: the page says what is asked, and not the collector.
   * @param {string} address in a page, it may be relative to the page
   * @param {ClientOptions} [options]
   */
  static async load(address, options) {
    const url = new URL(address, globalThis.document?.baseURI);
    const place = url.href.replace(/\/$/, "");
    const [, named = ""] = /\/([0-9a-f]{16}|[0-9a-f]{64})$/.exec(place) ?? [];
    /** @type {any} */
    let answer;
    const isFetched = async (/** @type {RequestCache} */ cache) => {
      answer = await request(`${place}/document`, { cache });
      return isDelivered(answer.status) && (await fingerprintSoon(answer.text)).startsWith(named);
    };
    // What has this fingerprint never changes, so it can be of any age. Where the cache has something else, the collector is asked.
    if (!(named && (await isFetched("force-cache"))) && !(await isFetched("no-store"))) {
      throw isDelivered(answer.status)
        ? new PlanMismatchError(`there is another plan at ${place}`)
        : new LocalDPError(`the plan ${place} cannot be loaded: ${inWords(answer)}`, "no-plan");
    }
    return new Client(answer.text, { upload: url.origin, ...options });
  }

  /** The epsilon that this device has spent, under all plans of its store, through this and other pages. */
  spent() {
    return this.#parts._device.spent();
  }

  /** The number of reports that wait to be sent. */
  waiting() {
    return this.#parts._outbox.waiting();
  }

  /** The place of this device in a study with several parts, which decides what it is asked; undefined under a plan. */
  async place() {
    return /** @type {OnePart} */ (this.#answers).place?.();
  }

  /**
   * A batch of one report, in the wire format. What it spends is stored before this is fulfilled. A new value that the
   * device has no budget for is a `BudgetError`, a store that cannot be read or written a `StoreError`. Under a plan with
   * `setSize`, the value is a list of items, and every other set is a new value. In a study with several parts, `document` is that of the
   * part under way, and the result is undefined if it asks others.
   * @param {Value} value
   * @param {string} [document]
   * @returns {Promise<Uint8Array | undefined>}
   */
  async report(value, document) {
    if (await this.optedOut()) throw new OptedOutError("the owner of this device has opted out: it reports nothing");
    return this.#answers.report(value, document);
  }

  /**
   * Make a report, store it until it is delivered, and try to send what is waiting. Every call is one more report: most pages need
   * `sendOnce`. Without a network it waits for the end of a pause, or for the next visit. An `OutboxFullError` says that too many
   * reports wait already; then nothing is spent.
   * @param {Value} value
   * @param {string} [document] of the part under way in a study; it is fetched unless it is given
   * @param {number} [wording] the version of the wording that the person was shown
   */
  send(value, document, wording) {
    return this.#sent(wording, () => this.#answers.send(value, document, wording));
  }

  /**
   * Send one report of this device, or one `every` day, week, month or year. Reloads, other tabs and calls with another
   * value send nothing more until the next period: the first value counts. `wording` is the version that the person was shown.
   * @param {Value} value
   * @param {{ every?: Every, document?: string, wording?: number | undefined }} [options]
   */
  async sendOnce(value, { every, document, wording } = {}) {
    periodOf(every);
    return this.#sent(wording, () => inTurn(`localdp answer-${this.fingerprint}`, () => this.#answers.sendOnce(value, every, document, wording)));
  }

  /**
   * The question and the labels that people are to read now, and their version, from the collector; undefined if it does not say.
   * They are no part of the plan. A client without a title takes the question for one.
   * @returns {Promise<{ version: number, question: string, labels: Record<string, string> } | undefined>}
   */
  async wording() {
    const found = parsed(await this.#fetched(`/v1/studies/${this.fingerprint}/wording`));
    if (typeof found?.question != "string") return undefined;
    this.#parts._title ??= found.question;
    return found;
  }

  /**
   * Whether `sendOnce` has made its report, in this period if there are periods.
   * @param {{ every?: Every }} [options]
   */
  answered({ every } = {}) {
    return this.#answers.answered(every);
  }

  /** Try to send what is waiting, unless a pause after a failure is not over yet. */
  async flush() {
    this.#neededUpload();
    const forgetIfOut = async () => {
      if (await this.optedOut()) await this.forget(); // the tab in which its owner opted out could not remove what was made after that
    };
    const done = await this.#parts._outbox.flush(async () => this.#way(await this.#answers.route()), forgetIfOut);
    clearTimeout(this.#timer);
    if (done.waiting && !this.#closing.signal.aborted) {
      this.#timer = setTimeout(this.#flushQuietly, 1000 * done.pause + 1);
      /** @type {any} */ (this.#timer).unref?.(); // Node need not stay for this
    }
    return done;
  }

  /**
   * Remove answers and what waits to be sent. What was paid, and that there was an answer, stays: otherwise a page could make a
   * device pay and answer again and again. The secret stays too, or the same value would be blurred anew.
   */
  async forget() {
    this.#answers.forget();
    const pages = await this.#noted((pages) => {
      for (const entry of Object.values(pages.answers)) {
        entry.posted = true;
        delete entry.body;
        delete entry.id; // with it, the report could be found at the collector
        delete entry.last;
      }
      return true;
    });
    for (const box of this.#boxes(pages)) await box.empty();
  }

  /** Report nothing from now on, under no plan of this store, and forget. */
  async optOut() {
    await this.#noted((pages) => (pages.out = true));
    await this.forget();
  }

  /** Take back `optOut`. */
  async optIn() {
    await this.#noted((pages) => delete pages.out);
  }

  /** Whether the owner of this device has opted out. */
  async optedOut() {
    return !!(await this.#parts._diary.read()).out;
  }

  /** What this device has told, for its owner: from its own record, so nobody is asked. */
  async learnt() {
    const pages = await this.#parts._diary.read();
    const told = Object.entries({ ...pages.answers, ...pages.sent });
    let waiting = 0;
    for (const box of this.#boxes(pages)) waiting += await box.waiting();
    return {
      spent: await this.spent(),
      left: await this.#parts._device.left(),
      most: this.most,
      mostEvery: this.mostEvery,
      waiting,
      optedOut: !!pages.out,
      answers: told.map(([fingerprint, { title, epsilon, at }]) => ({ fingerprint, title, epsilon, at: new Date(at) })),
    };
  }

  /** Try nothing more by itself. What is waiting stays in the store. */
  close() {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  /**
   * Change the diary, of a device that is there first: a diary alone is taken for what is left of one that was lost. Where the record of
   * the device is damaged, its owner can still have answers forgotten.
   * @param {(pages: import("./diary.js").Pages) => unknown} update
   */
  async #noted(update) {
    await this.#parts._device.secret().catch(() => {});
    return this.#parts._diary.change(update);
  }

  /**
   * The outboxes of everything that this device knows of.
   * @param {import("./diary.js").Pages} pages
   */
  #boxes({ answers, sent }) {
    return Object.keys({ [this.fingerprint]: 0, ...sent, ...answers }).map((fingerprint) => new Outbox(this.#store, fingerprint, 1));
  }

  /**
   * @param {number | undefined} wording
   * @param {() => Promise<boolean | string>} send says whether this device is asked, or what went wrong
   * @returns {Promise<Delivery>}
   */
  async #sent(wording, send) {
    this.#neededUpload();
    checkWhole(InvalidInputError, "wording", wording ?? 1, LAST_WORDING);
    const asked = !(await this.optedOut()) && (await send());
    if (asked === true) return this.flush();
    const waiting = await this.waiting();
    return { delivered: 0, waiting, pause: 0, dropped: [], trouble: asked || "", asked: asked !== false };
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
    if (!this.#upload) throw new InvalidInputError("to send reports, a client needs the option upload");
    return this.#upload;
  }

  /** @param {string} route */
  async #fetched(route) {
    const upload = this.#neededUpload();
    if (typeof upload !== "string") throw new InvalidInputError("give the document of the part under way");
    const answer = await request(new URL(route, new URL(upload, globalThis.document?.baseURI)).href, {});
    return isDelivered(answer.status) ? answer.text : { trouble: `the part could not be fetched: ${inWords(answer)}` };
  }
}
