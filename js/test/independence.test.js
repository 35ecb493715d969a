// What a report reveals by the way it is made: as many words are drawn for every value or set, and the same code runs
// as often.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Session } from "node:inspector";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";

import { keyedWords, Plan } from "../src/index.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/v1/devices.json", import.meta.url), "utf8"));
/** @type {Set<string>} */
const texts = new Set([...vectors.responses, ...vectors.sets].map(({ plan }) => plan));

// Optimized code is not counted reliably.
for (const flag of ["--no-opt", "--no-flush-bytecode"]) setFlagsFromString(flag);

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/**
 * How often each block of the source has run since this was called before.
 * @returns {string}
 */
function blocksRun() {
  let counts = "";
  session.post("Profiler.takePreciseCoverage", (error, { result }) => {
    assert.equal(error, null);
    const ours = result.filter(({ url }) => url.includes("/src/"));
    const ran = ours.map(({ url, functions }) => [url, functions.filter(({ ranges }) => ranges[0].count)]);
    counts = JSON.stringify(ran, null, 1);
  });
  return counts;
}

/** @param {Plan} plan */
function valuesOf({ size, setSize }) {
  const items = [...new Set([0, 1, 31, 32, 63, 64, size >> 1, size - 1].filter((value) => value < size))];
  if (!setSize) return items;
  const all = Array.from({ length: size }, (_, i) => i);
  const lengths = [0, 1, setSize - 1, setSize, setSize + 1, 3 * setSize, size].filter((length) => length <= size);
  return [...items.map((item) => [item]), ...lengths.flatMap((length) => [all.slice(0, length), all.slice(size - length)])];
}

for (const text of texts) {
  const plan = Plan.parse(text);
  const values = valuesOf(plan);
  const what = `${plan.mechanism} on ${plan.setSize ? `sets of ${plan.setSize} of ` : ""}${plan.size} items`;

  test(`${what} draws as many words for every value`, () => {
    for (let seed = 0; seed < 5; seed++) {
      const used = values.map((value) => {
        const words = keyedWords(new Uint8Array(16).fill(seed));
        let drawn = 0;
        const next = words.next.bind(words);
        words.next = () => (drawn++, next());
        plan.permanent(value, words);
        return drawn;
      });
      assert.equal(new Set(used).size, 1, `${used}`);
      assert.ok(used[0] >= 2);
    }
  });

  test(`${what} runs the same code for every value`, () => {
    for (let seed = 0; seed < 3; seed++) {
      plan.permanent(values[0], keyedWords(new Uint8Array(16).fill(seed))); // compiles what runs for the first time
      const [first, ...others] = values.map((value) => {
        const words = keyedWords(new Uint8Array(16).fill(seed));
        blocksRun();
        plan.permanent(value, words);
        return blocksRun();
      });
      assert.match(first, /mechanisms/);
      for (const other of others) assert.equal(other, first);
    }
  });
}
