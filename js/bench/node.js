// Measures one plan, given on standard input, in Node: `node bench/node.js milliseconds < plan.json`.

import { readFileSync } from "node:fs";

import * as localdp from "../src/index.js";
import { measure } from "./measure.js";

console.log(JSON.stringify(measure(localdp, readFileSync(0, "utf8"), Number(process.argv[2] ?? 250))));
