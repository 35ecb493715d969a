// One process of a device with a store in a folder: node device_process.js <folder> <log> <kill at this file operation, or 0> <values...>
// Every report is appended to the log, with its value, as soon as it is given out.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [folder, log, killAt, ...values] = process.argv.slice(2);
let operations = 0;

/** Count an operation, and kill this process if it is the one. */
function counted() {
  if (++operations === Number(killAt)) process.kill(process.pid, "SIGKILL");
}

for (const name of ["mkdir", "readdir", "readFile", "open", "link", "unlink", "stat"]) {
  const real = fs.promises[name];
  fs.promises[name] = async (...args) => {
    counted();
    const result = await real(...args);
    if (name === "open") {
      for (const method of ["sync", "writeFile", "close"]) {
        const own = result[method].bind(result);
        result[method] = (...rest) => (counted(), own(...rest));
      }
    }
    return result;
  };
}
syncBuiltinESMExports();

const { Client } = await import("../src/index.js");
const { fileStore } = await import("../src/node.js");
const { PLAN } = await import("./helpers.js");
const client = new Client(PLAN, { store: fileStore(folder) });
for (const value of values) fs.appendFileSync(log, `${value} ${await client.report(value)}\n`);
fs.appendFileSync(log, `done after ${operations}\n`);
