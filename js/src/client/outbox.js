// Reports that wait to be sent: one record of the store for each plan. A report is put there before the first attempt and
// removed after the last one.
//
//     offset  bytes  content
//     0       8      "LDPBOX1\n"
//     8       ..     JSON: the pause, and for each waiting report its upload id and its batch, both in hex, and the version of the
//                    wording that its person was shown, if that is known
//     ..      32     the SHA-256 of everything before
//
// A report and its id are never changed, so every attempt sends the same bytes with the same upload id, and a collector that
// has seen the id counts the report once. They are sent beginning at a random one, so that one which makes a server fail does
// not keep the others waiting for ever.
//
//     the answer                              what happens
//     2xx                                     the report was delivered, and is removed
//     400, 409, 410, 413, 415, 422            it can never succeed: it is removed, and the caller is told
//     anything else, no answer, no network    it stays, and nothing more is tried until a pause is over

import { InvalidInputError } from "../errors.js";
import { fromHex, toHex } from "../hex.js";
import { ID_BYTES } from "../numbers.js";
import { OutboxFullError } from "./errors.js";
import { chance, noPause, pauseAfter, secondsLeft } from "./pauses.js";
import { sealedJson, unsealedJson } from "./sealed.js";
import { checkWhole } from "../whole.js";
import { inTurn } from "./turns.js";
import { inWords, isDelivered, isFinal } from "./upload.js";

const NAME = "LDPBOX1\n";

/** A new upload id, in hex. */
export const freshId = () => toHex(crypto.getRandomValues(new Uint8Array(ID_BYTES)));

/**
 * What became of the reports in an outbox: how many were `delivered` in this call; how many are `waiting` to be tried
 * again, `pause` seconds from now at the earliest; in `dropped` a sentence for each that can never be delivered and was removed;
 * in `trouble` why the last attempt failed, if it did. `asked` is false if this device is not asked, so that there was nothing to
 * send: its owner opted out, or the part of the study that is under way asks others.
 * @typedef {{ delivered: number, waiting: number, pause: number, dropped: string[], trouble: string, asked: boolean }} Delivery
 */
/**
 * @typedef {[body: string, wording?: number | undefined]} Waiting a batch in hex, and the version that was shown
 * @typedef {{ waiting: Map<string, Waiting>, pause: import("./pauses.js").Pause }} Box by upload ids, in hex
 */

export class Outbox {
  /** @type {import("./store.js").Store} */ #store;
  /** @type {string} */ #name;
  /** @type {number} */ #most;
  /** What to say about damaged records with the next delivery. @type {string[]} */ #lost = [];

  /**
   * @param {import("./store.js").Store} store
   * @param {string} fingerprint of the plan
   * @param {number} most how many reports may wait
   */
  constructor(store, fingerprint, most) {
    checkWhole(InvalidInputError, "mostWaiting", most, 1e6);
    this.#store = store;
    this.#name = `outbox-${fingerprint.slice(0, 16)}`;
    this.#most = most;
  }

  /** The number of waiting reports. */
  async waiting() {
    return (await this.#change(() => false)).waiting.size;
  }

  /** Throws if no more reports can wait. */
  async _checkRoom() {
    await this.#change((box) => this.#refuseIfFull(box));
  }

  /**
   * Keep a report until it is sent. When this is fulfilled, the store holds it.
   * @param {string} body in hex
   * @param {string} id the upload id, in hex
   * @param {number} [wording] the version that was shown
   */
  async put(body, id, wording) {
    await this.#change((box) => {
      // A store may call this twice. The report must not be refused because of itself.
      if (!box.waiting.has(id)) this.#refuseIfFull(box);
      return Boolean(box.waiting.set(id, wording ? [body, wording] : [body]));
    });
  }

  /** Give up everything that waits. */
  async empty() {
    await this.#change((box) => box.waiting.size > 0 && (box.waiting.clear(), true));
  }

  /**
   * Try to send every waiting report once, until one of them fails for now or all are gone.
   * @param {() => Promise<import("./upload.js").Upload>} way what to send with. It is asked for when a report is there: another call may
   *   put the first one there while this one waits its turn
   * @param {() => Promise<void>} forgetIfOut removes what waits if the owner of the device has opted out
   * @returns {Promise<Delivery>}
   */
  flush(way, forgetIfOut) {
    return inTurn(`localdp ${this.#name}`, async () => {
      await forgetIfOut();
      let box = await this.#change((_, damaged) => damaged);
      /** @type {Delivery} */
      const done = { delivered: 0, waiting: 0, pause: secondsLeft(box.pause), dropped: this.#lost.splice(0), trouble: "", asked: true };
      for (const [id, [body, wording]] of done.pause ? [] : turned([...box.waiting])) {
        if (!box.waiting.has(id)) continue; // its owner had it forgotten meanwhile, in another tab
        const answer = await attempt(await way(), fromHex(body), id, wording);
        const over = isDelivered(answer.status) || isFinal(answer.status);
        box = await this.#change((now) => {
          if (over) now.waiting.delete(id);
          now.pause = over ? noPause() : pauseAfter(now.pause, answer.retryAfter);
          return true;
        });
        const said = inWords(answer);
        if (!over) {
          done.pause = box.pause.length;
          done.trouble = said;
          break;
        }
        if (isDelivered(answer.status)) done.delivered += 1;
        else done.dropped.push(`a report was dropped, because it can never be delivered: ${said}`);
      }
      done.waiting = box.waiting.size;
      return done;
    });
  }

  /** @param {Box} box */
  #refuseIfFull(box) {
    if (box.waiting.size >= this.#most) {
      throw new OutboxFullError(
        `${this.#most} reports wait to be sent, and no more are taken`,
      );
    }
    return false;
  }

  /**
   * @param {(box: Box, damaged: boolean) => boolean} update changes the box, and says whether it is to be written
   * @returns {Promise<Box>}
   */
  async #change(update) {
    let box = emptyBox();
    let lost = false;
    await this.#store.change(this.#name, (bytes) => {
      const found = bytes ? read(bytes) : emptyBox();
      box = found ?? emptyBox();
      const writes = update(box, !found);
      lost = writes && !found;
      return writes ? written(box) : undefined;
    });
    if (lost) this.#lost.push("reports were dropped, because what was stored is damaged");
    return box;
  }
}

/**
 * @param {import("./upload.js").Upload} upload
 * @param {Uint8Array} body
 * @param {string} id
 * @param {number} [wording]
 * @returns {Promise<import("./upload.js").Answer>}
 */
async function attempt(upload, body, id, wording) {
  try {
    const answer = (await upload(body, id, wording)) ?? 200;
    return typeof answer === "number" ? { status: answer } : answer;
  } catch (error) {
    return { status: 0, detail: String(error).slice(0, 300) };
  }
}

/** @returns {Box} */
const emptyBox = () => ({ waiting: new Map(), pause: noPause() });

/** @param {Box} box */
const written = ({ waiting, pause }) => sealedJson(NAME, { pause, waiting: [...waiting].map((one) => one.flat()) });

/**
 * @param {Uint8Array} bytes
 * @returns {Box | undefined} undefined if the bytes are not as they were written
 */
function read(bytes) {
  const content = unsealedJson(NAME, bytes);
  return content && { ...content, waiting: new Map(content.waiting.map((/** @type {any[]} */ [id, ...rest]) => [id, rest])) };
}

/**
 * The same things, beginning at a random place. The list that was given is changed.
 * @template T
 * @param {T[]} things
 */
const turned = (things) => things.concat(things.splice(0, chance() * things.length));
