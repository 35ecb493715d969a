// Users who hold sets: a device names a set whatever its order, pays for every other one, and draws each element as often
// as it should.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { sum } from "../src/client/device.js";
import { read, written } from "../src/client/record.js";
import { BudgetError, Client, freshWords, InvalidInputError, memoryStore, Plan, UnknownItemError } from "../src/index.js";
import { PLAN, openStore, server, SETS, SETS_OR_ELSE } from "../testing/helpers.js";
import { tapeWords } from "./tape_words.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/v1/devices.json", import.meta.url), "utf8"));
const EPSILON = Plan.parse(SETS).epsilon;
const text = (bytes) => Array.from(bytes).join();
const hex = (bytes) => Buffer.from(bytes).toString("hex");

test("the same set gives the same report in any order and form", async () => {
  const store = memoryStore();
  const client = new Client(SETS, { store });
  const forms = [["tea", "wäter"], ["wäter", "tea"], ["tea", "wäter", "tea"], new Set(["wäter", "tea"]), ["tea", "wäter"].values()];
  const reports = new Set();
  for (const held of forms) reports.add(text(await client.report(held)));
  reports.add(text(await new Client(SETS, { store }).report(["wäter", "tea"])));
  assert.equal(reports.size, 1);
  assert.equal(await client.spent(), EPSILON);
});

test("every other set is paid for, also the empty one and one that is too large", async () => {
  const client = new Client(SETS, { store: memoryStore(), most: 4.1 });
  for (const held of [[], ["tea"], ["tea", "coffee"], ["wäter", "coffee", "tea"], []]) await client.report(held);
  assert.equal(await client.spent(), sum(Array(4).fill(EPSILON)));
  await assert.rejects(client.report(["coffee"]), BudgetError);
});

test("a set and its items are different values, and reports of other plans are too", async () => {
  const store = openStore();
  await new Client(SETS, { store }).report(["tea"]);
  await new Client(PLAN, { store }).report("tea");
  await new Client(SETS_OR_ELSE, { store }).report(["tea"]);
  assert.equal(read(store.records.get("device"))._paid.size, 3);
});

test("items that are not listed become the catch-all item, or are refused and cost nothing", async () => {
  const client = new Client(SETS, { store: memoryStore() });
  for (const held of [["cocoa"], ["tea", "cocoa"], [undefined], [["tea", "coffee"]], new Map([["tea", "coffee"]])]) {
    await assert.rejects(client.report(held), UnknownItemError);
  }
  assert.equal(await client.spent(), 0);
  const open = new Client(SETS_OR_ELSE, { store: memoryStore() });
  const reports = new Set();
  for (const held of [["coffee"], ["cocoa"], ["cocoa", "rice", "coffee"], [null]]) reports.add(text(await open.report(held)));
  assert.equal(reports.size, 1);
  assert.equal(await open.spent(), EPSILON);
  await assert.rejects(open.report([["tea"]]), UnknownItemError); // a list in a list is a mistake, not a stranger
});

test("what is not a list is refused in a sentence, and costs nothing", async () => {
  for (const plan of [SETS, SETS_OR_ELSE]) {
    const client = new Client(plan, { store: memoryStore(), upload: server() });
    for (const value of ["tea", "", 1, true, null, undefined, {}, { tea: 1 }, () => {}, Symbol("tea")]) {
      const refused = { name: "InvalidInputError", code: "invalid-input", message: /^a value is a list of items, such as/ };
      await assert.rejects(client.report(value), refused);
      await assert.rejects(client.send(value), refused);
    }
    assert.equal(await client.spent(), 0);
    assert.equal(await client.waiting(), 0);
  }
  await assert.rejects(new Client(PLAN, { store: memoryStore() }).report(["tea"]), /a value is one item, and not a list/);
});

test("numbers and typed arrays of numbers are items of plans with numbers", async () => {
  const { plan: json } = vectors.sets.find(({ plan }) => plan.includes('"size":100,') || plan.includes('"size":100}'));
  const plan = Plan.parse(json);
  assert.deepEqual(plan.index([99, 3, -0, 3]), [0, 3, 99]);
  assert.deepEqual(plan.index(Uint8Array.of(7, 5, 7)), [5, 7]);
  assert.deepEqual(plan.index([]), []);
  for (const held of [[100], [-1], [0.5], [NaN], ["1"], [true]]) assert.throws(() => plan.index(held), UnknownItemError);
});

test("a report is sent and kept like any other", async () => {
  const upload = server(503);
  const client = new Client(SETS, { store: memoryStore(), upload });
  assert.equal((await client.send(["tea", "coffee"])).waiting, 1);
  client.close();
  assert.ok(upload.seen[0].endsWith(` ${text(await client.report(["coffee", "tea"]))}`));
  assert.equal(await client.spent(), EPSILON);
});

test("a client whose store holds the secret of a vector pays and reports as the vector says", async () => {
  for (const { secret, plan, values, digest, response } of vectors.sets) {
    const store = openStore();
    store.records.set("device", written({ _generation: 1n, _secret: Uint8Array.from(Buffer.from(secret, "hex")), _paid: new Map() }));
    const client = new Client(plan, { store });
    const report = await client.report(values);
    assert.equal(Buffer.from(report.subarray(24)).toString("base64"), response);
    assert.deepEqual([...read(store.records.get("device"))._paid], [[digest, client.plan.epsilon]]);
    assert.equal(hex(report.subarray(4, 20)), client.plan.fingerprint.slice(0, 32));
  }
});

test("more sets than are remembered give the same reports again", async () => {
  const { plan } = vectors.sets.find((vector) => vector.plan.includes('"llh"'));
  const client = new Client(plan, { store: memoryStore(), most: 5_000 });
  const sets = Array.from({ length: 300 }, (_, i) => [i, 2 * i, 16_469]);
  const reports = [];
  for (const held of sets) reports.push(text(await client.report(held)));
  for (const [i, held] of sets.entries()) assert.equal(text(await client.report(held.reverse())), reports[i]);
});

test("the indices of a set are whole numbers in ascending order", () => {
  const plan = Plan.parse(SETS);
  assert.equal(plan.setSize, 2);
  assert.equal(Plan.parse(PLAN).setSize, undefined);
  const held = [[1, 0], [0, 0], [3], [-1], [0.5], [NaN], [2 ** 32], [0, 1, 2, 3], 0, "0", null, undefined, {}, Uint32Array.of(0)];
  held.push(["0"], [[0]], ["0", 0], [0, "0"], [[0], 0], [0, [0], "0"], [0, new Number(0)], [false], [, 0], [0, undefined], [-0, 0]);
  for (const indices of held) assert.throws(() => plan.permanent(indices, freshWords()), InvalidInputError);
  assert.throws(() => Plan.parse(PLAN).permanent([0], freshWords()), InvalidInputError);
  for (const indices of [[], [2], [0, 1, 2]]) assert.equal(plan.permanent(indices, freshWords()).length, 1);
});

/** What is reported for a set if these words are drawn first, and then the truth is told. */
function element(plan, held, ...drawn) {
  const bytes = Buffer.alloc(8 * (drawn.length + 2));
  drawn.forEach((word, i) => bytes.writeBigUInt64LE(word, 8 * i));
  return plan.permanent(held, tapeWords(bytes))[0];
}

test("every element of a padded set is drawn with the same probability, and a larger set within 2^-64 of it", () => {
  const plan = Plan.parse(SETS);
  const all = [[], [0], [1], [2], [0, 1], [0, 2], [1, 2]];
  for (const held of all) {
    const padded = [...held, 3, 4].slice(0, 2).map((item, place) => (item > 2 ? 3 + place : item));
    const half = 1n << 63n;
    for (const [place, item] of padded.entries()) {
      for (const word of [0n, half - 1n]) assert.equal(element(plan, held, BigInt(place) * half + word, 2n ** 64n - 1n), item);
    }
  }
  for (const place of [0n, 2n ** 64n - 1n]) {
    for (const item of [0, 1, 2]) {
      const first = (BigInt(item) * 2n ** 64n + 2n) / 3n; // the first word of this item, rounded up
      const last = (BigInt(item + 1) * 2n ** 64n + 2n) / 3n - 1n;
      for (const word of [first, last]) assert.equal(element(plan, [0, 1, 2], place, word), item);
    }
  }
});
