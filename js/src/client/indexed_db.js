// A store in IndexedDB. Reading and writing are one transaction, and of those that write, IndexedDB runs one at a time, in
// all tabs together. It is complete when the browser has flushed it to the disk (durability "strict").
//
// A connection is opened for every change. So a page never holds one that the browser has closed, and never keeps another
// tab from removing the data.

const RECORDS = "records";

/**
 * @param {string} [database] its name
 * @returns {import("./store.js").Store}
 */
export const indexedDbStore = (database = "localdp") => ({
  change: (name, update) =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open(database, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(RECORDS);
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const connection = opening.result;
        /** @type {unknown} */
        let refused;
        try {
          const transaction = connection.transaction(RECORDS, "readwrite", { durability: "strict" });
          const records = transaction.objectStore(RECORDS);
          const reading = records.get(name);
          reading.onsuccess = () => {
            try {
              const before = reading.result;
              // Something that is not bytes is a damaged record, and not a missing one.
              const after = update(before === undefined || before instanceof Uint8Array ? before : new Uint8Array());
              if (after) records.put(after, name);
            } catch (error) {
              refused = error;
              transaction.abort();
            }
          };
          transaction.oncomplete = resolve;
          transaction.onabort = () => reject(refused ?? transaction.error);
        } catch (error) {
          reject(error);
        } finally {
          connection.close(); // which waits for the transaction
        }
      };
    }),
});
