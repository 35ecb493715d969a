// Work that one page does at a time.

const LONGEST_WAIT = 30_000; // milliseconds

/** @type {Map<string, Promise<unknown>>} */
const last = new Map();

/**
 * Do the work while nobody else does work of this name: in all tabs if the page has Web Locks, else in this page.
 * After half a minute, it is done all the same.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function inTurn(name, work) {
  let begun = false;
  try {
    return await navigator.locks.request(name, { signal: AbortSignal.timeout(LONGEST_WAIT) }, () => {
      begun = true;
      return work();
    });
  } catch (error) {
    if (begun) throw error; // else there are no Web Locks here, or a tab that holds this one was put to sleep
  }
  const mine = Promise.resolve(last.get(name)).then(work, work);
  last.set(name, mine);
  return mine;
}
