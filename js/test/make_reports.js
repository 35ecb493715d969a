// Makes many reports, for the statistical audit. Standard input is a JSON list of jobs: a plan, an index or the indices
// of a set, a number of reports and a seed of 8 bytes in hex. Standard output is one batch for each job. Every report is that of a device
// of its own: its words come from a key of its own, made of the seed and a number, so that a run can be repeated.

import { readFileSync, writeSync } from "node:fs";

import { keyedWords, Plan } from "../src/index.js";

const HEADER_BYTES = 24;

/** @param {{ plan: string, held: number | number[], count: number, seed: string }} job */
function batchOf({ plan: text, held, count, seed }) {
  const plan = Plan.parse(text, { mostEpsilon: 16 });
  const whole = Buffer.alloc(HEADER_BYTES + count * plan.reportBytes);
  const key = Buffer.concat([Buffer.from(seed, "hex"), Buffer.alloc(8)]);
  for (let device = 0; device < count; device++) {
    key.writeUInt32LE(device, 8);
    const words = keyedWords(key);
    const response = plan.permanent(held, words);
    const one = plan.batch(plan.perturbsAgain ? plan.again(response, words) : response);
    whole.set(one.subarray(0, HEADER_BYTES));
    whole.set(one.subarray(HEADER_BYTES), HEADER_BYTES + device * plan.reportBytes);
  }
  whole.writeUInt32LE(count, 20);
  return whole;
}

for (const job of JSON.parse(readFileSync(0, "utf8"))) {
  const batch = batchOf(job);
  for (let at = 0; at < batch.length;) at += writeSync(1, batch, at);
}
