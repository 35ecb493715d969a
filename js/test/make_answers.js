// Makes the answers of many devices in a study, for the statistical audit. Standard input is a JSON list of jobs: a study, the document of
// a part (null if the study alone tells it: then its first part is meant), a value, a number of devices and a seed of 8 bytes in hex.
// For each job, standard output is a line of JSON (the plan of the part, the cell of the value, how many were asked) and a batch of the reports of those that the part asks. Every
// device has a secret of its own, made of the seed and its number, so that a run can be repeated.

import { readFileSync, writeSync } from "node:fs";

import { deviceKeys, keyedWords } from "../src/index.js";
import { readStudy } from "../src/studies/study.js";

const HEADER_BYTES = 24;

/** @param {Uint8Array} bytes */
function write(bytes) {
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
}

for (const { study: text, part: document, value, count, seed } of JSON.parse(readFileSync(0, "utf8"))) {
  const study = /** @type {import("../src/studies/study.js").Study} */ (readStudy(text, { mostEpsilon: 16 }));
  const given = document ?? study._at(0);
  const part = study.part(given);
  const plan = part._plan;
  const held = part._read(value);
  const secret = Buffer.concat([Buffer.from(seed, "hex"), Buffer.alloc(24)]);
  const whole = Buffer.alloc(HEADER_BYTES + count * plan.reportBytes);
  let asked = 0;
  for (let device = 0; device < count; device++) {
    secret.writeUInt32LE(device, 8);
    const keys = deviceKeys(secret, study.fingerprint);
    const place = keyedWords(keys.place(study._label)).below(study._places);
    if (place < part._first || place >= part._end) continue;
    const one = plan.batch(plan.permanent(held, keyedWords(keys.key(held, part._fingerprint))));
    if (!asked) whole.set(one.subarray(0, HEADER_BYTES));
    whole.set(one.subarray(HEADER_BYTES), HEADER_BYTES + asked++ * plan.reportBytes);
  }
  whole.writeUInt32LE(asked, 20);
  const share = (part._end - part._first) / study._places;
  write(Buffer.from(`${JSON.stringify({ plan: JSON.parse(given).plan ?? JSON.parse(given), held, asked, share })}\n`));
  write(whole.subarray(0, HEADER_BYTES + asked * plan.reportBytes));
}
