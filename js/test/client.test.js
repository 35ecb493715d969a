// A device that is asked again answers from the same permanent response, pays for every value once, and fails closed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BudgetError, Client, memoryStore, Plan, PlanLimitError, StorageBlockedError, StoreError, UnknownItemError } from "../src/index.js";
import { sum } from "../src/client/device.js";
import { read, written } from "../src/client/record.js";
import { CHAIN, failing, openStore, PLAN } from "../testing/helpers.js";

const EPSILON = Plan.parse(PLAN).epsilon;
const text = (bytes) => Array.from(bytes).join();

test("without once the bytes are the same for ever", async () => {
  const store = memoryStore();
  const client = new Client(PLAN, { store });
  const reports = new Set();
  for (let i = 0; i < 50; i++) reports.add(text(await client.report("tea")));
  for (let i = 0; i < 5; i++) reports.add(text(await new Client(PLAN, { store }).report("tea")));
  assert.equal(reports.size, 1);
  assert.equal(await client.spent(), EPSILON);
});

test("with once every report perturbs the permanent response again, and epsilon is spent once", async () => {
  const store = memoryStore();
  const client = new Client(CHAIN, { store });
  const reports = new Set();
  for (let i = 0; i < 200; i++) reports.add(text(await client.report("tea"))); // all alike with probability 1e-50 or less
  assert.ok(reports.size > 1);
  assert.equal(await client.spent(), client.plan.epsilon);
});

test("a caller that changes the bytes it got does not change the next report", async () => {
  const client = new Client(PLAN, { store: memoryStore() });
  const first = await client.report("tea");
  const copy = text(first);
  first.fill(255);
  assert.equal(text(await client.report("tea")), copy);
});

test("calls at the same time make one device, which pays once for a value", async () => {
  const store = memoryStore();
  const clients = [1, 2, 3].map(() => new Client(PLAN, { store }));
  const reports = await Promise.all(["tea", "coffee", "tea", "coffee"].flatMap((value) => clients.map(async (client) => `${value} ${await client.report(value)}`)));
  assert.equal(new Set(reports).size, 2);
  assert.equal(await clients[0].spent(), sum([EPSILON, EPSILON]));
});

test("the cap holds for all plans together, and what was paid for is still answered", async () => {
  const store = memoryStore();
  const first = new Client(PLAN, { store, most: 2.5 });
  const report = text(await first.report("tea"));
  const chain = new Client(CHAIN, { store, most: 2.5 });
  await assert.rejects(chain.report("tea"), { name: "BudgetError", code: "budget", message: /would spend epsilon 2, and this device has spent 1 of at most 2.5: nothing was released/ });
  await first.report("coffee");
  await assert.rejects(first.report("wäter"), BudgetError);
  assert.equal(text(await first.report("tea")), report);
  assert.equal(text(await new Client(PLAN, { store, most: 0.5 }).report("tea")), report);
  assert.equal(await first.spent(), sum([EPSILON, EPSILON]));
});

test("sums are rounded once", () => {
  assert.equal(sum(Array(10).fill(0.1)), 1);
  assert.equal(sum([]), 0);
  const exact = (numbers) => Number(numbers.reduce((total, number) => total + BigInt(Math.round(number * 2 ** 60)), 0n)) / 2 ** 60;
  let state = 1;
  const drawn = () => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let turn = 0; turn < 300; turn++) {
    const numbers = Array.from({ length: 1 + Math.floor(60 * drawn()) }, () => Math.round(drawn() * 2 ** 40) / 2 ** 45 + 2 ** -52);
    assert.equal(sum(numbers), exact(numbers));
  }
});

test("a cap is a number above 0", () => {
  for (const most of [0, -1, Infinity, NaN, "much", null]) {
    assert.throws(() => new Client(PLAN, { store: memoryStore(), most }), { name: "InvalidInputError", message: /most must be a number above 0/ });
  }
});

test("a plan that asks too much is refused, as text and as a plan", () => {
  const store = memoryStore();
  for (const plan of [PLAN, Plan.parse(PLAN)]) {
    assert.throws(() => new Client(plan, { store, mostEpsilon: 0.5 }), PlanLimitError);
    assert.throws(() => new Client(plan, { store, mostItems: 2 }), PlanLimitError);
    assert.throws(() => new Client(plan, { store, needsOther: true }), PlanLimitError);
    new Client(plan, { store, mostReportBytes: 1 });
  }
  const chain = Plan.parse(CHAIN);
  assert.throws(() => new Client(chain, { store, mostEpsilon: 1.5 }), PlanLimitError);
  assert.throws(() => new Client(7, { store }), { name: "PlanError", message: /this is not a plan: it is not text/ });
});

test("a value that is not an item spends nothing", async () => {
  const client = new Client(PLAN, { store: memoryStore() });
  await assert.rejects(client.report("milk"), UnknownItemError);
  assert.equal(await client.spent(), 0);
});

test("a record is read back, and any damage is noticed", async () => {
  const store = openStore();
  const client = new Client(PLAN, { store });
  await client.report("tea");
  const good = store.records.get("device");
  assert.equal(good.length, 52 + 24 + 32);
  assert.deepEqual(written(read(good)), good);
  for (let place = 0; place < 8 * good.length; place++) {
    const damaged = good.slice();
    damaged[place >> 3] ^= 1 << (place & 7);
    assert.equal(read(damaged), undefined);
  }
  for (const bad of [new Uint8Array(), good.slice(0, -1), Uint8Array.of(...good, 0), new Uint8Array(200)]) {
    store.records.set("device", bad);
    await assert.rejects(new Client(PLAN, { store }).report("tea"), { name: "StoreError", code: "store", message: /is damaged, so it reports nothing/ });
    await assert.rejects(new Client(PLAN, { store }).spent(), StoreError);
    await assert.rejects(client.report("coffee"), StoreError);
  }
});

test("no value is stored", async () => {
  const store = openStore();
  const client = new Client(PLAN, { store, upload: async () => 503 });
  await client.send("coffee");
  for (const bytes of store.records.values()) assert.ok(!new TextDecoder("latin1").decode(bytes).includes("coffee"));
});

test("a store that is emptied or replaced in use is noticed", async () => {
  const store = openStore();
  const client = new Client(PLAN, { store });
  const report = text(await client.report("tea"));
  store.records.clear();
  await assert.rejects(client.report("coffee"), /removed or replaced: a new client is needed/);
  await new Client(PLAN, { store }).report("tea");
  await assert.rejects(client.report("coffee"), /removed or replaced: a new client is needed/);
  assert.equal(text(await client.report("tea")), report);
});

test("a store that fails releases nothing, and never knows of less than was released", async () => {
  for (let turn = 0; turn < 6; turn++) {
    for (const when of ["before", "after"]) {
      const store = memoryStore();
      const client = new Client(PLAN, { store: failing(store, (now) => (now === turn ? when : undefined)) });
      const released = new Map();
      for (const value of ["tea", "coffee", "wäter", "tea", "coffee", "wäter"]) {
        try {
          const report = text(await client.report(value));
          assert.equal(released.get(value) ?? report, report);
          released.set(value, report);
        } catch (error) {
          assert.ok(error instanceof StoreError);
          assert.match(error.message, /cannot be read or written, so it reports nothing: Error: (no space left|the power is gone)/);
        }
        assert.ok((await new Client(PLAN, { store }).spent()) >= sum(Array(released.size).fill(EPSILON)));
      }
      const again = new Client(PLAN, { store });
      for (const [value, report] of released) assert.equal(text(await again.report(value)), report);
      assert.equal(await again.spent(), sum(Array(3).fill(EPSILON)));
    }
  }
});

test("a store that never calls update releases nothing", async () => {
  await assert.rejects(new Client(PLAN, { store: { change: async () => {} } }).report("tea"), StoreError);
});

test("without a place to store, no report is the default and forgetting is a choice", async () => {
  const client = new Client(PLAN);
  await assert.rejects(client.report("tea"), { name: "StorageBlockedError", code: "storage-blocked", message: /lets the page store nothing/ });
  await assert.rejects(client.spent(), StorageBlockedError);
  const forgetful = new Client(PLAN, { withoutStorage: "forget" });
  const report = text(await forgetful.report("tea"));
  assert.equal(text(await new Client(PLAN, { withoutStorage: "forget" }).report("tea")), report); // the same page
  assert.equal(await forgetful.spent(), EPSILON);
  await assert.rejects(new Client(PLAN, { withoutStorage: "maybe" }).report("tea"), StorageBlockedError);
});

test("a payment that was not written is not remembered: the same client pays before it reports", async () => {
  const store = openStore();
  let isFull = true;
  const client = new Client(PLAN, {
    store: {
      change: (name, update) =>
        store.change(name, (before) => {
          const after = update(before);
          if (after && isFull) throw new Error("no space left");
          return after;
        }),
    },
  });
  await assert.rejects(client.report("tea"), StoreError);
  await assert.rejects(client.report("tea"), StoreError);
  assert.equal(store.records.size, 0);
  isFull = false;
  await client.report("tea");
  assert.equal(read(store.records.get("device"))._paid.size, 1);
});
