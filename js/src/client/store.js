// Where a device keeps its records.
//
// A store has one method. `change(name, update)` reads the record `name` (bytes, or undefined if there is none), calls `update`
// with it, which is synchronous, and writes what that returns; undefined leaves the record as it is. The promise is fulfilled
// when the new record would survive a crash. It is rejected, and nothing is written, if `update` throws or the record cannot
// be read or written.
//
// Nobody else may change the record between the reading and the writing. A store that notices that somebody did may call
// `update` again with what is there now. A record that is there and cannot be read must be an error, and never undefined:
// undefined means a new device, which spends epsilon anew.

import { LocalDPError } from "../errors.js";
import { StoreError } from "./errors.js";

/**
 * @typedef {(before: Uint8Array | undefined) => Uint8Array | undefined} Update
 * @typedef {{ change(name: string, update: Update): Promise<unknown> }} Store
 */

/**
 * A store in memory: the device is gone when the page or the process is.
 * @returns {Store}
 */
export function memoryStore() {
  /** @type {Map<string, Uint8Array>} */
  const records = new Map();
  return {
    async change(name, update) {
      const after = update(records.get(name));
      if (after) records.set(name, after);
    },
  };
}

/**
 * The store, with what a browser or an operating system says (no room, not permitted) turned into a `StoreError`. A store that does
 * not call `update` has read and written nothing.
 * @param {Store} store
 * @returns {Store}
 */
export const explained = (store) => ({
  async change(name, update) {
    let isCalled = false;
    try {
      await store.change(name, (before) => {
        isCalled = true;
        return update(before);
      });
    } catch (error) {
      if (error instanceof LocalDPError) throw error;
      throw new StoreError(`what this device has stored cannot be read or written, so it reports nothing: ${error}`);
    }
    if (!isCalled) throw new StoreError("the store did not call update");
  },
});
