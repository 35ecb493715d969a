// Append one byte at a time to a record: node changing_process.js <folder> <how often> <byte>

import { fileStore } from "../src/node.js";

const [folder, times, byte] = process.argv.slice(2);
const store = fileStore(folder);
for (let i = 0; i < Number(times); i++) {
  let mine = 0;
  await store.change("record", (before = new Uint8Array()) => {
    // A store may call this again after a change that was made; then there is nothing left to do.
    mine ||= before.filter((found) => found === Number(byte)).length + 1;
    return before.filter((found) => found === Number(byte)).length < mine ? Uint8Array.of(...before, Number(byte)) : undefined;
  });
}
