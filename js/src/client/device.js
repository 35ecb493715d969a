// The secret of a device, what it has spent, and the cap that its owner sets.
//
// Every value that a device reports under a plan has its own permanent response, which spends the epsilon of the plan once,
// however often it is reported. The cap holds for the sum over all plans: whoever asked the same question under one new plan
// after the other would otherwise get one new permanent response after the other.

import { deviceKeys } from "../device_keys.js";
import { InvalidInputError } from "../errors.js";
import { toHex } from "../hex.js";
import { BudgetError, StoreError } from "./errors.js";
import { periodOf } from "./periods.js";
import { newDevice, read, written } from "./record.js";

const NAME = "device";

export class Device {
  /** @type {import("./store.js").Store} */ #store;
  /** @type {import("./diary.js").Diary} */ #diary;
  /** @type {import("./periods.js").Every | undefined} */ #every;
  /** What the store is known to hold. Payments are never taken back. @type {import("./record.js").Payments | undefined} */ #known;

  /**
   * @param {import("./store.js").Store} store
   * @param {import("./diary.js").Diary} diary
   * @param {number} most the cap
   * @param {import("./periods.js").Every} [every] the cap holds for each of these periods
   */
  constructor(store, diary, most, every) {
    if (!Number.isFinite(most) || most <= 0) throw new InvalidInputError("most must be a number above 0");
    periodOf(every);
    this.#store = store;
    this.#diary = diary;
    this.#every = every;
    this.most = most;
  }

  /** What this device has spent, through this page and any other. */
  async spent() {
    return sum((await this.#read())._paid.values());
  }

  /** What may still be spent, in this period if there are periods. */
  async left() {
    return Math.max(0, this.most - (await this.spent()) + (await this.#before()));
  }

  /** The secret, once the store holds it. */
  async secret() {
    if (!this.#known) {
      let payments = newDevice();
      await this.#store.change(NAME, (bytes) => {
        payments = this.#found(bytes);
        if (payments._generation) return undefined;
        payments._generation++;
        return written(payments);
      });
      this.#known = payments;
    }
    return this.#known._secret;
  }

  /**
   * The key of the permanent response to what the user holds. It is given when the store holds the payment, and not before.
   * @param {{ fingerprint: string, epsilon: number }} plan
   * @param {import("../plan.js").Held} held
   */
  async key(plan, held) {
    /** @param {Uint8Array} secret */
    const keys = (secret) => deviceKeys(secret, plan.fingerprint);
    return keys(await this.pay((secret) => keys(secret).digest(held), plan.epsilon)).key(held);
  }

  /**
   * Pay for what has this digest, unless it was paid for. When this is fulfilled, with the secret, the store holds the payment.
   * @param {(secret: Uint8Array) => Uint8Array} digestOf
   * @param {number} epsilon
   */
  async pay(digestOf, epsilon) {
    let payments = this.#known;
    if (!payments?._paid.has(toHex(digestOf(payments._secret)))) {
      const before = await this.#before();
      await this.#store.change(NAME, (bytes) => {
        payments = this.#found(bytes);
        const digest = toHex(digestOf(payments._secret));
        if (payments._paid.has(digest)) return undefined;
        this.#check([...payments._paid.values()], epsilon, before);
        payments._generation++;
        payments._paid.set(digest, epsilon);
        return written(payments);
      });
      this.#known = payments; // only now: a change that was not written has made neither a secret nor a payment
    }
    return /** @type {import("./record.js").Payments} */ (payments)._secret;
  }

  /**
   * Whether something was paid for. If it was not, and there is no budget for it, that is a `BudgetError`.
   * @param {Uint8Array} digest
   * @param {number} epsilon
   */
  async _isPaid(digest, epsilon) {
    const { _paid: paid } = await this.#read();
    const isPaid = paid.has(toHex(digest));
    if (!isPaid) this.#check([...paid.values()], epsilon, await this.#before());
    return isPaid;
  }

  /**
   * @param {number[]} paid
   * @param {number} epsilon
   * @param {number} before what was spent before this period
   */
  #check(paid, epsilon, before) {
    if (sum([...paid, epsilon]) - before <= this.most) return;
    const period = this.#every ? ` in this ${this.#every}` : "";
    throw new BudgetError(
      `a new value would spend epsilon ${short(epsilon)}, and this device has spent ${short(sum(paid) - before)} of ` +
        `at most ${short(this.most)}${period}: nothing was released`,
    );
  }

  /**
   * What was spent before this period. When a period begins, what was spent by then is written down. A clock that is set
   * back begins none, and what was spent before the first one that is known of counts in it.
   */
  async #before() {
    const every = this.#every;
    if (!every) return 0;
    const at = periodOf(every);
    await this.secret(); // a diary without the record of a device is taken for what is left of one that was lost
    const spent = await this.spent();
    const pages = await this.#diary.change((pages) => {
      const known = pages.before?.every === every ? pages.before : undefined;
      if (known && known.at >= at) return false;
      pages.before = { every, at, spent: known ? spent : 0 };
      return true;
    });
    return pages.before?.spent ?? 0;
  }

  /** What the store holds now. */
  async #read() {
    let payments = newDevice();
    await this.#store.change(NAME, (bytes) => {
      payments = this.#found(bytes);
      return undefined;
    });
    return payments;
  }

  /**
   * What was found in the store. It must still be that of the same device.
   * @param {Uint8Array | undefined} bytes
   */
  #found(bytes) {
    const payments = bytes ? read(bytes) : newDevice();
    if (!payments) {
      throw new StoreError(
        "what this device has stored is damaged, so it reports nothing; removing it makes a new device, which spends epsilon anew",
      );
    }
    if (this.#known && toHex(this.#known._secret) !== toHex(payments._secret)) {
      throw new StoreError("what this device has stored was removed or replaced: a new client is needed");
    }
    return payments;
  }
}

/**
 * The sum of numbers above 0, rounded once at the end (Neumaier's way), so that ten times 0.1 is 1.
 * @param {Iterable<number>} numbers
 */
export function sum(numbers) {
  let total = 0;
  let lost = 0;
  for (const number of numbers) {
    const next = total + number;
    lost += total >= number ? total - next + number : number - next + total;
    total = next;
  }
  return total + lost;
}

/** @param {number} number */
const short = (number) => Number(number.toPrecision(6));
