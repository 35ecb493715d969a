// A store in localStorage, for browsers that give a page no IndexedDB.
//
// Tabs take turns by a Web Lock; without Web Locks the store is refused. Browsers keep a copy of localStorage in every tab and
// bring the copies up to date a moment later, so the lock is held for that moment after every change. They also write
// localStorage to the disk seconds later: if the whole browser crashes right after a report, its payment may be forgotten.
// IndexedDB has neither weakness.

import { fromHex, toHex } from "../hex.js";
import { MOMENT } from "../numbers.js";
import { StorageBlockedError, StoreError } from "./errors.js";

/**
 * @param {string} [prefix] what the keys begin with
 * @returns {import("./store.js").Store}
 */
export const localStorageStore = (prefix = "localdp") => ({
  async change(name, update) {
    const locks = globalThis.navigator?.locks;
    if (!locks) {
      throw new StorageBlockedError("localStorage needs Web Locks");
    }
    const key = `${prefix}/${name}`;
    await locks.request(key, async () => {
      const before = localStorage.getItem(key);
      const after = update(before === null ? undefined : fromHex(before));
      if (!after) return;
      const text = toHex(after);
      localStorage.setItem(key, text);
      await new Promise((resolve) => setTimeout(resolve, MOMENT));
      if (localStorage.getItem(key) !== text) throw new StoreError("localStorage did not keep it");
    });
  },
});
