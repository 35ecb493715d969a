// Reads the plans that come as a JSON list on standard input, and says what that took: see audits/large_plans.py.

import { existsSync, readFileSync } from "node:fs";
import { LocalDPError, Plan } from "../src/index.js";

/** The most bytes that this process has held. `maxRSS` includes, on Linux, what the process held that started this one. */
const status = "/proc/self/status";
const held = () => (existsSync(status) ? Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(status, "utf8"))[1]) : process.resourceUsage().maxRSS);
const memory = () => 1024 * held();
const before = memory();
const texts = JSON.parse(readFileSync(0, "utf8"));
const raised = { mostEpsilon: 16, mostReportBytes: 2 ** 24, mostItems: 2 ** 32 };
let [accepted, read, seconds, slowest] = [0, 0, 0, ""];
for (const text of texts) {
  for (const limits of [{}, raised]) {
    const start = process.cpuUsage();
    try {
      Plan.parse(text, limits);
      accepted++;
    } catch (error) {
      if (!(error instanceof LocalDPError)) throw error;
    }
    const { user, system } = process.cpuUsage(start);
    read++;
    if ((user + system) / 1e6 > seconds) [seconds, slowest] = [(user + system) / 1e6, text];
  }
}
console.log(JSON.stringify({ bytes: memory() - before, seconds, slowest, accepted, read }));
