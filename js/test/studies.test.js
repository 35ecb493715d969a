// A device in a study answers once, whatever fails or is called twice, and refuses what does not belong to its study.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, memoryStore } from "../src/index.js";
import { written } from "../src/client/record.js";
import { canonical } from "../src/canonical_json.js";
import { fromHex } from "../src/hex.js";
import { readStudy } from "../src/studies/study.js";
import { textCode } from "../src/studies/text_code.js";
import { failing, openStore, PLAN, server } from "../testing/helpers.js";

const { good, answers } = JSON.parse(readFileSync(new URL("../../vectors/v1/questionnaires.json", import.meta.url), "utf8"));
const { parts } = JSON.parse(readFileSync(new URL("../../vectors/v1/studies.json", import.meta.url), "utf8"));
const given = answers[0];
const FORM = good.find(({ fingerprint }) => fingerprint === given.form).form;
const other = answers.find(({ form, answers: held }) => form === given.form && JSON.stringify(held) !== JSON.stringify(given.answers));
const asked = parts.flatMap(({ study, part, answers: made }) => made.filter(({ batch }) => batch && part).map((one) => ({ study, part, ...one })))[0];

/** A store of the device with this secret. */
function storeOf(secret) {
  const store = openStore();
  store.records.set("device", written({ _generation: 1n, _secret: fromHex(secret), _paid: new Map() }));
  return store;
}

for (const when of ["before", "after"]) {
  test(`a device whose store fails ${when} any of its writes gives one answer in a study`, async () => {
    for (let turn = 0; ; turn++) {
      const store = storeOf(given.secret);
      const upload = server();
      let failed = false;
      const broken = failing(store, (at) => (at === turn ? ((failed = true), when) : undefined));
      await new Client(FORM, { store: broken, upload }).sendOnce(given.answers).catch((error) => assert.equal(error.code, "store"));
      for (const { answers: held } of [other, given]) await new Client(FORM, { store, upload }).sendOnce(held);
      assert.equal(new Set(upload.seen).size, 1, `turn ${turn}`);
      const client = new Client(FORM, { store });
      assert.equal(await client.spent(), client.epsilon);
      if (!failed) break;
      assert.ok(turn < 40);
    }
  });
}

test("an answer is written down and paid for before it is given out", async () => {
  const store = storeOf(given.secret);
  const client = new Client(FORM, { store, most: 100 });
  for (const record of ["diary", "device"]) {
    const broken = { change: (name, update) => (name === record ? store.change(name, (before) => { if (update(before)) throw new Error("full"); }) : store.change(name, update)) };
    await assert.rejects(new Client(FORM, { store: broken, most: 100 }).report(given.answers), { code: "store" });
  }
  assert.equal(await client.spent(), 0);
  await client.report(given.answers);
  assert.equal(await client.spent(), client.epsilon);
});

test("an answer that is gone is not made anew", async () => {
  const store = storeOf(given.secret);
  await new Client(FORM, { store }).report(given.answers);
  store.records.delete("diary");
  await assert.rejects(new Client(FORM, { store }).report(given.answers), { code: "store", message: /an answer that is gone; a second one would spend epsilon anew/ });
});

test("after forget, a study is neither answered again nor asked again", async () => {
  const store = storeOf(given.secret);
  const upload = server();
  await new Client(FORM, { store, upload }).sendOnce(given.answers);
  await new Client(FORM, { store, upload }).forget();
  const client = new Client(FORM, { store, upload });
  assert.equal(await client.answered(), true);
  await client.sendOnce(other.answers);
  assert.equal(upload.seen.length, 1);
  await assert.rejects(client.report(given.answers), { code: "store" });
});

test("an answer that is not in the outbox yet does not count as answered, so the next visit sends it", async () => {
  for (const [document, value] of [[FORM, given.answers], [PLAN, "tea"]]) {
    const store = storeOf(given.secret);
    const upload = server();
    const broken = { change: (name, update) => (name.startsWith("outbox") ? store.change(name, (before) => { if (update(before)) throw new Error("full"); }) : store.change(name, update)) };
    await assert.rejects(new Client(document, { store: broken, upload }).sendOnce(value), { code: "store" });
    const client = new Client(document, { store, upload });
    assert.equal(await client.answered(), false);
    await client.sendOnce(value);
    assert.equal(await client.answered(), true);
    assert.equal(upload.seen.length, 1);
  }
});

test("a study asks each device once, so there are no periods", async () => {
  const client = new Client(FORM, { store: memoryStore(), upload: server() });
  await assert.rejects(client.sendOnce(given.answers, { every: "week" }), { code: "invalid-input" });
});

test("a part that was answered binds the device to its document", async () => {
  const store = openStore();
  store.records.set("device", fromHex(asked.record));
  const client = new Client(asked.study, { store });
  await client.report(asked.value, asked.part);
  const part = JSON.parse(asked.part);
  const renumbered = canonical({ ...part, round: part.round + 1 });
  await assert.rejects(client.report(asked.value, renumbered), { name: "PlanMismatchError" });
});

test("a format that every object has is not a study", () => {
  for (const format of ["constructor", "toString", "__proto__"]) {
    assert.throws(() => new Client(JSON.stringify({ epsilon: 1, format }), { store: memoryStore() }), { code: "bad-plan" });
  }
});

test("a text is written in the book that needs the fewest bits, symbols first that are longest", () => {
  const book = (word, symbols) => ({ word, symbols });
  const hex = (text) => Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16)).join("");
  const write = textCode([book("0", { 2: ["", hex("a"), hex("ab")], 3: [hex("b")] }), book("1", { 1: [hex("b")], 2: ["", hex("a")] })], 8);
  assert.equal(write("ab"), "01000"); // the first book: "ab" is one symbol
  assert.equal(write("bbb"), "100010"); // the second book, where "b" has one digit
  assert.equal(write(""), "000"); // in both books as long: the first
  assert.equal(write("x"), undefined);
  assert.equal(write("abababab"), "01010101000");
  assert.equal(write("ababababa"), undefined); // longer than 8 bytes
  assert.equal(write("\ud800"), undefined);
});

test("a study says what it asks for before anything is derived from it", () => {
  const { epsilon } = readStudy(FORM, {});
  assert.throws(() => new Client(FORM, { store: memoryStore(), mostEpsilon: epsilon / 2 }), { code: "plan-limit" });
});

test("two clients at the same time give one answer", async () => {
  const store = storeOf(given.secret);
  const upload = server();
  const slow = { change: async (name, update) => (await new Promise((resolve) => setTimeout(resolve, 2)), store.change(name, update)) };
  const sends = [given, other].map(({ answers: held }) => new Client(FORM, { store: slow, upload }).send(held));
  await Promise.all(sends);
  assert.equal(new Set(upload.seen).size, 1);
});

test("every place of a questionnaire belongs to the part whose span holds it", () => {
  const study = readStudy(FORM, {});
  let first = 0;
  for (const { asks, places } of JSON.parse(FORM).parts) {
    for (const place of [first, first + places - 1]) {
      assert.equal(JSON.parse(study._at(place)).part.name, asks.join());
      const part = study.part(study._at(place));
      assert.deepEqual([part._first, part._end], [first, first + places]);
    }
    first += places;
  }
  assert.equal(study._places, first);
});

/** The document with something nested deeply in the place of each of its values, one after the other. */
function* nested(text) {
  const deep = "the deep place";
  const places = function* (value) {
    yield [];
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value).slice(0, Array.isArray(value) ? 1 : undefined)) for (const more of places(inner)) yield [key, ...more];
  };
  const replaced = (value, [key, ...more]) => {
    if (key === undefined) return deep;
    const copy = structuredClone(value);
    copy[key] = replaced(copy[key], more);
    return copy;
  };
  for (const place of places(JSON.parse(text))) {
    const whole = canonical(replaced(JSON.parse(text), place));
    for (const depth of [300, 30_000]) {
      yield whole.replace(JSON.stringify(deep), "[".repeat(depth) + "]".repeat(depth));
      yield whole.replace(JSON.stringify(deep), '{"a":'.repeat(depth) + "1" + "}".repeat(depth));
      yield whole.replace(JSON.stringify(deep), '[{"a":'.repeat(depth) + "1" + "}]".repeat(depth));
    }
  }
}

test("a document that is nested deeply is a typed error", async () => {
  const isTyped = ({ code }) => ["bad-plan", "invalid-input"].includes(code);
  const kinds = new Map([[PLAN, PLAN], [FORM, FORM], ...parts.map(({ study }) => [JSON.parse(study).format, study])]);
  for (const study of kinds.values()) {
    for (const text of nested(study)) {
      try {
        new Client(text, { store: memoryStore() }); // a device does not read all that a study says
      } catch (error) {
        assert.ok(isTyped(error), `${error}`);
      }
    }
  }
  const store = openStore();
  store.records.set("device", fromHex(asked.record));
  const client = new Client(asked.study, { store });
  const spent = await client.spent();
  for (const text of nested(asked.part)) {
    await assert.rejects(client.report(asked.value, text), isTyped);
  }
  assert.equal(await client.spent(), spent);
});

test("a call that waits its turn sends the answer of a later call to its own route", async (t) => {
  const store = storeOf(given.secret);
  let put;
  const isPut = new Promise((go) => (put = go));
  let turn = 0;
  const slow = {
    // The first to look into the outbox, which is the early call, is held up until the answer is there.
    async change(name, update) {
      const number = name.startsWith("outbox") ? turn++ : -1;
      if (number === 0) await isPut;
      await store.change(name, update);
      if (number === 1) put();
    },
  };
  const routes = [];
  t.mock.method(globalThis, "fetch", async (url) => (routes.push(new URL(url).pathname), new Response("", { status: 201 })));
  const client = new Client(FORM, { store: slow, upload: "http://localhost:9" });
  const early = client.flush();
  await client.sendOnce(given.answers);
  assert.equal((await early).delivered, 1);
  assert.deepEqual(routes.map((route) => route.replace(/[0-9a-f]{64}/g, "*")), ["/v1/studies/*/parts/*/reports"]);
});

test("a questionnaire without parts is refused", () => {
  const empty = canonical({ ...JSON.parse(FORM), parts: [] });
  assert.throws(() => new Client(empty, { store: memoryStore() }), { code: "bad-plan" });
});

test("an answer that waits stays there if nobody knows any more to which part it belongs", async (t) => {
  const store = storeOf(given.secret);
  t.mock.method(globalThis, "fetch", async (url) => new Response("", { status: url.includes("/parts/undefined/") ? 404 : 503 }));
  const client = new Client(FORM, { store, upload: "http://localhost:9" });
  assert.equal((await client.sendOnce(given.answers)).waiting, 1);
  client.close();
  const without = { change: (name, update) => store.change(name === "diary" ? "another" : name, update) };
  t.mock.method(Date, "now", () => 4e12); // the pause is over
  const { waiting, trouble } = await new Client(FORM, { store: without, upload: "http://localhost:9" }).flush();
  assert.deepEqual([waiting, trouble], [1, "the server answered 404"]);
});
