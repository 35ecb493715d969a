// Whoever runs a collector writes the documents that devices read. No document makes them silent, or slow, by what their users hold.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { canonical } from "../src/canonical_json.js";
import { request } from "../src/client/upload.js";
import { Client, memoryStore } from "../src/index.js";
import { fingerprintOf } from "../src/sha256.js";
import { discovery } from "../src/studies/discovery.js";
import { readStudy } from "../src/studies/study.js";
import { survey } from "../src/studies/survey.js";
import { textCode } from "../src/studies/text_code.js";

const STUDY = "f".repeat(64);

/** A list, and the lists in it, that count how often one of their items is read. */
function counted(list, counts) {
  return new Proxy(list.map((item) => (Array.isArray(item) ? counted(item, counts) : item)), {
    get(target, name, receiver) {
      if (typeof name === "string" && /^\d+$/.test(name)) counts.read += 1;
      return Reflect.get(target, name, receiver);
    },
  });
}

test("a questionnaire that crosses a question about sets is refused: several items have no row in a table", () => {
  const form = (parts) => canonical({
    epsilon: 2, format: "localdp-questionnaire/1", name: "", parts,
    questions: [{ domain: { items: ["tea", "milk"] }, name: "drinks", set_size: 2 }, { name: "age", question: { high: 5, low: 1, name: "scale", step: 1 } }],
  });
  const part = (...asks) => ({ asks, mechanism: "grr", places: 1 });
  assert.equal(readStudy(form([part("drinks"), part("age")]), {})._places, 2);
  for (const asks of [["drinks", "age"], ["age", "drinks"], []]) {
    assert.throws(() => new Client(form([part("age"), part(...asks)]), { store: memoryStore() }), { code: "bad-plan" });
  }
});

test("every item of every candidate is looked at, whatever a person holds", () => {
  const counts = { read: 0 };
  const listed = [[0, 1, 2], [0, 2], [1, 2, 3], [4]];
  const digest = fingerprintOf(canonical(listed)).slice(0, 12);
  const plan = { items: listed.map((_, i) => `candidate ${i} of ${digest}`), size: 4, setSize: 2 };
  const round = { survey: STUDY, format: "localdp-sets-round/1", round: 3, asks: "set", candidates: listed, items: 5 };
  const kind = survey({ domain: { size: 5 }, shares: [1, 1, 1, 1] });
  assert.deepEqual([[0, 1, 2], [2, 0], [4], []].map(kind._part(round, STUDY, plan)._read), [[0, 1], [1], [3], []]);
  const part = kind._part({ ...round, candidates: counted(listed, counts) }, STUDY, plan);
  const reads = [[], [0], [0, 1, 2], [3, 4], [0, 1, 2, 3, 4]].map((held) => {
    counts.read = 0;
    part._read(held);
    return counts.read;
  });
  assert.deepEqual(new Set(reads), new Set([4 + 9])); // the candidates and their items, once each
});

test("a prefix is found without a search through those before it", () => {
  const counts = { read: 0 };
  const open = ["00", "10", "20", "f0"];
  const round = { format: "localdp-round/1", round: 0, discovery: STUDY, position: 4, bits: 1, finished: [], from: 0, to: 1 };
  const part = discovery({ values: { kind: "keys", bits: 8 } })._part({ ...round, open: counted(open, counts) }, STUDY, { size: 9, other: 8 });
  counts.read = 0;
  assert.deepEqual([0, 8, 0x1f, 0xff, 0x30, 300, null].map(part._read), [0, 1, 3, 7, 8, 8, 8]);
  assert.equal(counts.read, 0);
});

test("no value is not the text null, also where that is listed", () => {
  const values = { kind: "text", most_bytes: 8, known: ["tea", "null"], books: [{ word: "", symbols: { 1: ["", "61"] } }] };
  const round = { format: "localdp-round/1", round: 0, discovery: STUDY, position: 0, bits: 1, open: [""], finished: [], known: 2, from: 0, to: 1 };
  const part = discovery({ values })._part(round, STUDY, { size: 5, other: 4 });
  assert.deepEqual(["tea", "null", null, undefined].map(part._read), [2, 3, 4, 4]);
});

test("books have not so many lengths of symbols in all that the time to try them tells the length of a text", () => {
  const book = { word: "", symbols: { 1: [""], 2: ["61", "61".repeat(20)] } };
  assert.equal(textCode(Array(51).fill(book), 400)("a".repeat(21)), "11100");
  assert.throws(() => textCode(Array(52).fill(book), 400), { code: "bad-plan" });
});

test("a questionnaire has not so many questions or parts that reading it stops a page", () => {
  const form = (questions, parts) => canonical({
    epsilon: 2, format: "localdp-questionnaire/1", name: "",
    parts: Array.from({ length: parts }, (_, i) => ({ asks: [`q${i % questions}`], mechanism: "grr", places: 1 })),
    questions: Array.from({ length: questions }, (_, i) => ({ name: `q${i}`, question: { high: 5, low: 1, name: "scale", step: 1 } })),
  });
  assert.equal(readStudy(form(100, 1000), {})._places, 1000);
  for (const [questions, parts] of [[101, 101], [1, 1001], [1, 0]]) {
    assert.throws(() => readStudy(form(questions, parts), {}), { code: "bad-plan" });
  }
});

test("a questionnaire has not so many cells that reading it stops a page: a short document can have millions", () => {
  const form = (questions, parts, high) => canonical({
    epsilon: 2, format: "localdp-questionnaire/1", name: "",
    parts: Array.from({ length: parts }, (_, i) => ({ asks: [`q${i % questions}`], mechanism: "grr", places: 1 })),
    questions: Array.from({ length: questions }, (_, i) => ({ name: `q${i}`, question: { high, low: 1, name: "scale", step: 1 } })),
  });
  assert.equal(readStudy(form(15, 15, 2 ** 16), {})._places, 15);
  for (const [questions, parts] of [[100, 1], [1, 1000], [100, 1000]]) {
    assert.throws(() => readStudy(form(questions, parts, 2 ** 16), {}), { code: "bad-plan" });
  }
  const numbered = canonical({ epsilon: 2, format: "localdp-questionnaire/1", name: "", parts: [{ asks: ["q"], mechanism: "grr", places: 1 }], questions: [{ domain: { size: 2 ** 26 }, name: "q" }] });
  assert.throws(() => readStudy(numbered, {}), { code: "bad-plan" }); // the element lists them
});

test("of what a server says, no more is read than a document can have", async (t) => {
  let sent = 0;
  const endless = { pull: (/** @type {any} */ to) => to.enqueue(new Uint8Array((sent += 2 ** 20) && 2 ** 20).fill(32)) };
  t.mock.method(globalThis, "fetch", async () => new Response(new ReadableStream(endless)));
  const { text } = await request("http://localhost:9", {});
  assert.equal(text.length, 2 ** 24);
  assert.ok(sent < 2 ** 25);
});

test("a book has no symbols so long that the time to try them tells the length of a text", () => {
  const book = (bytes) => [{ word: "", symbols: { 1: [""], 2: ["61", "61".repeat(bytes)] } }];
  assert.equal(textCode(book(255), 400)("a".repeat(256)), "11100");
  assert.throws(() => textCode(book(256), 400), { code: "bad-plan" });
  for (const { study } of JSON.parse(readFileSync(new URL("../../vectors/v1/studies.json", import.meta.url), "utf8")).parts) readStudy(study, {});
});
