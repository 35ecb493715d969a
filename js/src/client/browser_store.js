// The place in which a browser keeps a device: IndexedDB, or localStorage in a browser that has no IndexedDB.
//
// The choice is made once. If a device moved from one to the other whenever IndexedDB fails for a moment, it would be two
// devices, with two permanent responses to one value and two budgets. So localStorage says where the device is: by holding its
// record, or by a note that it is in IndexedDB. After such a note, an IndexedDB that cannot be opened is an error. Before it, nobody knows
// whether a worker, which has no localStorage, keeps the device in that IndexedDB; so that is an error too.

import { StorageBlockedError } from "./errors.js";
import { indexedDbStore } from "./indexed_db.js";
import { localStorageStore } from "./local_storage.js";
import { memoryStore } from "./store.js";

const NOTE = "localdp/place";

/** What pages share that have no storage and choose to forget: until the page is gone, they are one device. */
const untilThePageIsGone = memoryStore();

/**
 * @param {boolean} forgets whether a page without storage is a new device every time, instead of being refused
 * @returns {import("./store.js").Store}
 */
export function browserStore(forgets) {
  /** @type {Promise<import("./store.js").Store> | undefined} */
  let place;
  return {
    async change(name, update) {
      place ??= chosen().catch((error) => {
        if (forgets && error instanceof StorageBlockedError) return untilThePageIsGone;
        place = undefined;
        throw error;
      });
      return (await place).change(name, update);
    },
  };
}

/** @returns {Promise<import("./store.js").Store>} */
async function chosen() {
  if (noted("localdp/device") != null) return localStorageStore();
  const store = indexedDbStore();
  try {
    await store.change("device", () => undefined);
  } catch (error) {
    const note = noted(NOTE);
    if (note != null) throw error;
    if (note === null && !globalThis.indexedDB && globalThis.navigator?.locks) return localStorageStore();
    throw new StorageBlockedError(
      `this browser lets the page store nothing: see the option withoutStorage (${error})`,
    );
  }
  try {
    localStorage.setItem(NOTE, "IndexedDB");
  } catch {
    // No room for a note; then there is none for a device either.
  }
  return store;
}

/**
 * What localStorage holds: null if nothing, undefined if there is no localStorage or it must not be read.
 * @param {string} key
 */
function noted(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return undefined;
  }
}
