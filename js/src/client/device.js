// The secret of a device, what it has spent, and the cap that its owner sets.
//
// Every value that a device reports under a plan has its own permanent response, which spends the epsilon of the plan once,
// however often it is reported. The cap holds for the sum over all plans: whoever asked the same question under one new plan
// after the other would otherwise get one new permanent response after the other.

import { deviceKeys } from "../device_keys.js";
import { InvalidInputError } from "../errors.js";
import { toHex } from "../hex.js";
import { BudgetError, StoreError } from "./errors.js";
import { newDevice, read, written } from "./record.js";

const NAME = "device";

export class Device {
  /** @type {import("./store.js").Store} */ #store;
  /** What the store is known to hold. Payments are never taken back. @type {import("./record.js").Payments | undefined} */ #known;

  /**
   * @param {import("./store.js").Store} store
   * @param {number} most the cap
   */
  constructor(store, most) {
    if (!Number.isFinite(most) || most <= 0) throw new InvalidInputError(`most, the cap of a device, is a number above 0, not ${most}`);
    this.#store = store;
    this.most = most;
  }

  /** What this device has spent, through this page and any other. */
  async spent() {
    let spent = 0;
    await this.#store.change(NAME, (bytes) => {
      spent = sum(this.#found(bytes)._paid.values());
      return undefined;
    });
    return spent;
  }

  /**
   * The key of the permanent response to what the user holds. It is given when the store holds the payment, and not before.
   * @param {{ fingerprint: string, epsilon: number }} plan
   * @param {import("../plan.js").Held} held
   */
  async key(plan, held) {
    let payments = this.#known;
    /** @param {Uint8Array} secret */
    const keys = (secret) => deviceKeys(secret, plan.fingerprint);
    if (!payments?._paid.has(toHex(keys(payments._secret).digest(held)))) {
      await this.#store.change(NAME, (bytes) => {
        payments = this.#found(bytes);
        const digest = toHex(keys(payments._secret).digest(held));
        if (payments._paid.has(digest)) return undefined;
        const spent = [...payments._paid.values()];
        if (!(sum([...spent, plan.epsilon]) <= this.most)) {
          throw new BudgetError(
            `a new value would spend epsilon ${short(plan.epsilon)}, and this device has spent ${short(sum(spent))} of ` +
              `at most ${short(this.most)}: it reports no new values, and nothing was released`,
          );
        }
        payments._generation++;
        payments._paid.set(digest, plan.epsilon);
        return written(payments);
      });
      this.#known = payments; // only now: a change that was not written has made neither a secret nor a payment
    }
    if (!payments) throw new StoreError("the store did not call update, so nothing was released");
    return keys(payments._secret).key(held);
  }

  /**
   * What was found in the store. It must still be that of the same device.
   * @param {Uint8Array | undefined} bytes
   */
  #found(bytes) {
    const payments = bytes ? read(bytes) : newDevice();
    if (!payments) {
      throw new StoreError(
        "what this device has stored is damaged, so nobody knows what it has spent, and it reports nothing; removing it makes " +
          "a new device, which spends epsilon anew",
      );
    }
    if (this.#known && toHex(this.#known._secret) !== toHex(payments._secret)) {
      throw new StoreError("what this device has stored was removed or replaced while it was in use; a new client is needed");
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
