// A device answers once, or once in a period: whatever is reloaded, opened twice, killed or changed, one report arrives.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Client, memoryStore, Plan } from "../src/index.js";
import { Diary } from "../src/client/diary.js";
import { isOver, periodOf } from "../src/client/periods.js";
import { failing, openStore, PLAN, CHAIN, server } from "../testing/helpers.js";

const EPSILON = Plan.parse(PLAN).epsilon;
const DAY = 86_400_000;
const real = Date.now;
let now = Date.UTC(2026, 10, 18, 12); // a Wednesday
Date.now = () => now;
after(() => {
  Date.now = real;
});

const STUDY = '{"epsilon":2,"format":"localdp-questionnaire/1","parts":[{"asks":["diet"],"mechanism":"grr","places":1}],"questions":[{"domain":{"items":["vegan","meat"]},"name":"diet"}]}';

const distinct = (upload) => new Set(upload.seen).size;

test("reloads, other values and double effects send one report", async () => {
  const store = memoryStore();
  const upload = server();
  assert.equal(await new Client(PLAN, { store, upload }).answered(), false);
  for (const value of ["tea", "tea", "coffee", "wäter"]) {
    const client = new Client(PLAN, { store, upload });
    await Promise.all([client.sendOnce(value), client.sendOnce("coffee")]);
    assert.equal(await client.answered(), true);
  }
  assert.equal(upload.seen.length, 1);
  assert.equal(await new Client(PLAN, { store, upload }).spent(), EPSILON); // what was not sent was not paid for
});

test("the report is the one that `report` makes of the first value", async () => {
  const store = memoryStore();
  const upload = server();
  const client = new Client(PLAN, { store, upload });
  await client.sendOnce("tea");
  assert.equal(upload.seen[0].split(" ")[1], `${await client.report("tea")}`);
});

test("a value that cannot be reported is an error before and after an answer", async () => {
  const client = new Client(PLAN, { store: memoryStore(), upload: server() });
  await assert.rejects(client.sendOnce("milk"), { code: "unknown-item" });
  assert.equal(await client.answered(), false);
  await client.sendOnce("tea");
  await assert.rejects(client.sendOnce("milk"), { code: "unknown-item" });
});

test("a new week has a new report, and when it is sent does not depend on the value", async () => {
  for (const later of ["tea", "coffee"]) {
    const upload = server();
    const client = new Client(PLAN, { store: memoryStore(), upload });
    const start = now;
    const days = [];
    for (let day = 0; day < 21; day++, now += DAY) {
      await client.sendOnce(day < 4 ? "tea" : later, { every: "week" });
      if (upload.seen.length > days.length) days.push(day);
    }
    now = start;
    assert.deepEqual(days, [0, 5, 12, 19]); // Wednesday, and then every Monday
    assert.equal(await client.spent(), later === "tea" ? EPSILON : 2 * EPSILON);
  }
});

test("days, weeks, months and years begin in UTC; a clock that was wrong by years does not silence a device", () => {
  const at = (text) => Date.parse(text);
  assert.equal(periodOf("week", at("2026-11-15T23:59:59Z")) + 1, periodOf("week", at("2026-11-16T00:00:00Z")));
  assert.equal(periodOf("day", at("2026-11-15T23:59:59Z")) + 1, periodOf("day", at("2026-11-16T00:00:00Z")));
  assert.equal(periodOf("month", at("2026-12-31T23:59:59Z")) + 1, periodOf("month", at("2027-01-01T00:00:00Z")));
  assert.equal(periodOf("year", at("2026-12-31T23:59:59Z")) + 1, periodOf("year", at("2027-01-01T00:00:00Z")));
  assert.deepEqual(["day", "week", "month", "year"].map((every) => periodOf(every)), [20775, 2968, 24322, 2026]); // as in Python
  assert.equal(isOver("week", now + DAY), false);
  assert.equal(isOver("week", now + 6 * DAY), false); // set back a little, into the week before
  assert.equal(isOver("week", now + 400 * DAY), true);
  assert.equal(isOver(undefined, 0), false);
  assert.throws(() => periodOf("fortnight"), { code: "invalid-input" });
});

test("at the cap a device repeats its last answer, and is not silent", async () => {
  const upload = server();
  const client = new Client(PLAN, { store: memoryStore(), upload, most: 1.5 });
  const start = now;
  for (const value of ["tea", "coffee", "coffee"]) {
    await client.sendOnce(value, { every: "week" });
    now += 7 * DAY;
  }
  now = start;
  const bodies = upload.seen.map((seen) => seen.split(" ")[1]);
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1); // all made from the response to "tea"
  assert.equal(new Set(upload.seen).size, 3); // under three ids
  assert.equal(await client.spent(), EPSILON);
  const first = new Client(PLAN, { store: memoryStore(), upload, most: 0.5 });
  await assert.rejects(first.sendOnce("tea"), { code: "budget" });
});

for (const when of ["before", "after"]) {
  test(`a store that fails ${when} any of its writes leads to one report`, async () => {
    for (let turn = 0; ; turn++) {
      const store = openStore();
      const upload = server();
      let failed = false;
      const broken = failing(store, (at) => (at === turn ? ((failed = true), when) : undefined));
      await new Client(CHAIN, { store: broken, upload }).sendOnce("tea").catch((error) => assert.equal(error.code, "store"));
      for (const value of ["coffee", "wäter"]) await new Client(CHAIN, { store, upload }).sendOnce(value);
      assert.equal(distinct(upload), 1, `turn ${turn}`);
      if (!failed) break;
      assert.ok(turn < 30);
    }
  });
}

test("a report that was not delivered waits, and calling again does not make another", async () => {
  const upload = server(503, 503, 503);
  const store = memoryStore();
  for (let i = 0; i < 5; i++, now += 1000 * DAY) await new Client(PLAN, { store, upload }).sendOnce("tea");
  now -= 5000 * DAY;
  assert.equal(upload.seen.length, 4);
  assert.equal(distinct(upload), 1);
});

test("a damaged diary fails closed", async () => {
  const store = openStore();
  const upload = server();
  await new Client(PLAN, { store, upload }).sendOnce("tea");
  const diary = store.records.get("diary");
  for (let bit = 0; bit < 8 * diary.length; bit += 7) {
    const bad = Uint8Array.from(diary);
    bad[bit >> 3] ^= 1 << (bit & 7);
    store.records.set("diary", bad);
    await assert.rejects(new Client(PLAN, { store, upload }).sendOnce("tea"), { code: "store" });
  }
  assert.equal(upload.seen.length, 1);
});

test("forget removes what waits and keeps payments and marks", async () => {
  const store = openStore();
  const upload = server(503);
  const client = new Client(PLAN, { store, upload, title: "Drinks" });
  await client.sendOnce("tea");
  assert.equal(await client.waiting(), 1);
  await client.forget();
  assert.equal(await client.waiting(), 0);
  assert.equal(await client.answered(), true);
  assert.equal(await client.spent(), EPSILON);
  const kept = JSON.parse(new TextDecoder().decode(store.records.get("diary").slice(8, -32)));
  assert.deepEqual(Object.keys(kept.answers[client.fingerprint]).sort(), ["at", "epsilon", "posted", "title"]);
  await new Client(PLAN, { store, upload }).sendOnce("coffee");
  assert.equal(upload.seen.length, 1);
});

test("an opt-out is remembered for every plan, and can be taken back", async () => {
  const store = memoryStore();
  const upload = server();
  await new Client(PLAN, { store, upload }).optOut();
  const client = new Client(CHAIN, { store, upload });
  assert.equal(await client.optedOut(), true);
  for (const sent of [await client.send("tea"), await client.sendOnce("tea")]) assert.equal(sent.asked, false);
  await assert.rejects(client.report("tea"), { code: "opted-out" });
  assert.equal(await client.spent(), 0);
  await client.optIn();
  assert.equal((await client.sendOnce("tea")).delivered, 1);
});

test("a person can see what was told", async () => {
  const store = memoryStore();
  const client = new Client(PLAN, { store, upload: server(), most: 3, title: "Drinks" });
  await client.sendOnce("tea");
  const learnt = await client.learnt();
  assert.deepEqual(learnt.answers, [{ fingerprint: client.fingerprint, title: "Drinks", epsilon: EPSILON, at: new Date(now) }]);
  assert.deepEqual([learnt.spent, learnt.left, learnt.most, learnt.waiting, learnt.optedOut], [EPSILON, 3 - EPSILON, 3, 0, false]);
});

test("a cap for every year begins anew with the year, and never because the clock was set back", async () => {
  const store = memoryStore();
  const options = { store, upload: server(), most: 1.5, mostEvery: "year" };
  const start = now;
  await new Client(PLAN, options).report("tea");
  await assert.rejects(new Client(PLAN, options).report("coffee"), { code: "budget", message: /in this year/ });
  now = Date.UTC(2027, 0, 1);
  const client = new Client(PLAN, options);
  await client.report("coffee");
  assert.equal(await client.spent(), 2 * EPSILON);
  assert.equal((await client.learnt()).left, 1.5 - EPSILON);
  now = start; // back in 2026
  await assert.rejects(new Client(PLAN, options).report("wäter"), { code: "budget" });
  now = start;
});

test("after an opt-out, what another page had waiting is not sent", async () => {
  const store = memoryStore();
  const upload = server(503);
  const other = new Client(CHAIN, { store, upload });
  assert.equal((await other.send("tea")).waiting, 1);
  await new Diary(store).change((pages) => (pages.out = true)); // an opt-out that has not come to the outboxes yet
  now += 10 * DAY; // the pause is over
  assert.deepEqual({ ...(await other.flush()), pause: 0 }, { delivered: 0, waiting: 0, pause: 0, dropped: [], trouble: "", asked: true });
  now -= 10 * DAY;
  assert.equal(upload.seen.length, 1);
});

for (const way of ["forget", "optOut"]) {
  test(`what waits when another page calls ${way} is not sent, also while reports are being sent`, async () => {
    const store = memoryStore();
    const down = new Client(CHAIN, { store, upload: server(503, 503, 503) });
    for (let i = 0; i < 3; i++) await down.send("tea");
    down.close();
    now += 10 * DAY; // the pause is over
    const other = new Client(CHAIN, { store });
    const upload = server();
    const client = new Client(CHAIN, { store, upload: async (body, id) => (await other[way](), upload(body, id)) });
    const { delivered, waiting } = await client.flush();
    now -= 10 * DAY;
    assert.deepEqual([upload.seen.length, delivered, waiting], [1, 1, 0]); // the one that was on its way
  });
}

for (const [what, plan, value, turn] of [["a plan", CHAIN, "tea", 1], ["a study", STUDY, { diet: "vegan" }, 2]]) {
  test(`nothing is kept of an answer to ${what} that is made while another page opts out`, async () => {
    const store = openStore();
    const other = new Client(PLAN, { store });
    let turns = 0;
    const upload = server();
    const slow = {
      async change(name, update) {
        await store.change(name, update);
        if (name === "device" && ++turns === turn) await other.optOut(); // just before the answer is written
      },
    };
    const client = new Client(plan, { store: slow, upload });
    await client.sendOnce(value);
    const kept = JSON.parse(new TextDecoder().decode(store.records.get("diary").slice(8, -32)));
    assert.deepEqual([kept.out, upload.seen.length, await client.waiting()], [true, 0, 0]);
    assert.deepEqual(["body", "id", "last"].filter((name) => name in kept.answers[client.fingerprint]), []);
  });
}

test("forget removes what waits under every plan that this device has sent to, also by `send`", async () => {
  const store = openStore();
  for (const plan of [PLAN, CHAIN]) await new Client(plan, { store, upload: server(503) }).send("tea");
  const client = new Client(STUDY, { store, upload: server(503) });
  await client.sendOnce({ diet: "vegan" });
  assert.equal((await client.learnt()).waiting, 3);
  await client.forget();
  assert.equal((await client.learnt()).waiting, 0);
  for (const plan of [PLAN, CHAIN, STUDY]) assert.equal(await new Client(plan, { store }).waiting(), 0);
});

test("a person can see what was sent without once", async () => {
  const store = memoryStore();
  const client = new Client(PLAN, { store, upload: server(), title: "Drinks" });
  const told = async () => (await client.learnt()).answers.map(({ title, at }) => [title, at.getTime() - start]);
  const start = now;
  await client.send("tea");
  assert.deepEqual(await told(), [["Drinks", 0]]);
  assert.equal(await client.answered(), false); // `send` is not `sendOnce`
  now += DAY;
  await client.sendOnce("tea");
  assert.deepEqual(await told(), [["Drinks", DAY]]);
  now += DAY;
  await client.send("tea");
  assert.deepEqual(await told(), [["Drinks", 2 * DAY]]);
  assert.equal(await client.answered(), true);
  now = start;
});

test("that reports were sent is written down once a day", async () => {
  const store = openStore();
  const client = new Client(PLAN, { store, upload: server() });
  await client.send("tea");
  const written = store.records.get("diary");
  await client.send("tea");
  assert.equal(store.records.get("diary"), written);
});
