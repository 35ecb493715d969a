// A device in a study of several parts: it knows which of them asks it, and answers once.
//
// Its place is drawn from the secret, without looking at the value. The first report that it makes is the only one: it is written
// to the diary, then paid for, and only then given out. The upload id is derived from the secret, so the collector counts
// the report once, however often it is sent.
//
//     the diary     the payment   what a device does that is asked
//     no            no            makes its report, writes it, pays, gives it out
//     yes           no            (it was stopped between the two) pays, and gives out the report in the diary
//     yes           yes           gives out the report in the diary
//     no            yes           nothing: its report may have been given out, and a second one would spend epsilon again

import { deviceKeys } from "../device_keys.js";
import { InvalidInputError, PlanMismatchError } from "../errors.js";
import { fromHex, toHex } from "../hex.js";
import { keyedWords } from "../random.js";
import { StoreError } from "./errors.js";

/** @typedef {import("./client.js").Parts} Parts */
/** @typedef {import("../studies/study.js").Study} Study */
/** @typedef {import("../studies/study.js").Part} Part */

export class OnePart {
  /** @type {Study} */ #study;
  /** @type {Parts} */ #parts;

  /**
   * @param {Study} study
   * @param {Parts} parts
   */
  constructor(study, parts) {
    this.#study = study;
    this.#parts = parts;
  }

  /** The place of this device: it answers the part whose span holds it. */
  async place() {
    const { _label: label, _places: places } = this.#study;
    return keyedWords((await this.#keys()).place(label)).below(places);
  }

  /**
   * @param {any} value
   * @param {string} [document] of the part under way
   */
  async report(value, document) {
    const entry = await this.#answer(value, this.#part(document ?? (await this.#known())));
    return entry && fromHex(entry.body);
  }

  /**
   * @param {any} value
   * @param {string} [document]
   * @param {number} [wording]
   * @returns {Promise<boolean | string>} whether this device is asked; what went wrong if that could not be found out
   */
  async send(value, document, wording) {
    const { _diary: diary, _outbox: outbox, _fetch: fetchDocument } = this.#parts;
    const { fingerprint } = this.#study;
    if (!(await diary.read()).answers[fingerprint]?.posted) {
      const asked = document ?? (await this.#known()) ?? (await fetchDocument(`/v1/studies/${fingerprint}/part`));
      if (typeof asked !== "string") return asked.trouble;
      const entry = await this.#answer(value, this.#part(asked), wording);
      if (!entry) return false;
      await outbox.put(entry.body, entry.id, entry.wording);
      await diary.change(({ answers }) => (answers[fingerprint].posted = true));
    }
    return true;
  }

  /**
   * @param {any} value
   * @param {import("./periods.js").Every} [every]
   * @param {string} [document]
   * @param {number} [wording]
   */
  sendOnce(value, every, document, wording) {
    if (every) throw new InvalidInputError("a study asks each device once: leave out every");
    return this.send(value, document, wording);
  }

  async answered() {
    return !!(await this.#parts._diary.read()).answers[this.#study.fingerprint]?.posted;
  }

  forget() {}

  /** The route to which the answer is sent, once there is one. */
  async route() {
    const { fingerprint } = this.#study;
    const { answers } = await this.#parts._diary.read();
    return `/v1/studies/${fingerprint}/parts/${answers[fingerprint]?.part}/reports`;
  }

  async #keys() {
    return deviceKeys(await this.#parts._device.secret(), this.#study.fingerprint);
  }

  /** The document of the part that asks this device, if the study alone tells it. */
  async #known() {
    return this.#study._at?.(await this.place());
  }

  /** @param {string | undefined} document */
  #part(document) {
    if (document === undefined) throw new InvalidInputError("give the document of the part under way");
    return this.#study.part(document);
  }

  /**
   * The one answer, as it was made or as it is made now; undefined if the part asks others.
   * @param {any} value
   * @param {Part} part
   * @param {number} [wording] the version that was shown
   */
  async #answer(value, part, wording) {
    const { _device: device, _diary: diary, _title: title } = this.#parts;
    const { fingerprint, epsilon, _what: what } = this.#study;
    const held = part._read(value);
    const place = await this.place();
    if (place < part._first || place >= part._end) return undefined;
    const keys = await this.#keys();
    const digest = keys.digest(what);
    const isPaid = await device._isPaid(digest, epsilon).catch(async (error) => {
      if (fingerprint in (await diary.read()).answers) return false; // it was made while there was a budget; paying tells
      throw error;
    });
    const { answers } = await diary.change((pages) => {
      if (fingerprint in pages.answers || isPaid) return false;
      const response = part._plan.permanent(held, keyedWords(keys.key(held, part._fingerprint)));
      const body = toHex(part._plan.batch(response));
      pages.answers[fingerprint] = { at: Date.now(), id: toHex(keys.uploadId()), body, part: part._fingerprint, title, epsilon, wording };
      return true;
    });
    const { [fingerprint]: entry } = answers;
    if (!entry?.body) {
      throw new StoreError("this device has paid for an answer that is gone; a second one would spend epsilon anew");
    }
    if (entry.part !== part._fingerprint) throw new PlanMismatchError("this device has answered another document");
    await device.pay(() => digest, epsilon);
    return /** @type {import("./diary.js").Entry & { body: string, id: string }} */ (entry);
  }
}
