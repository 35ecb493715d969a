// What people read comes from the collector, and which version they read arrives with their report, whenever that is.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Client, memoryStore } from "../src/index.js";
import { shownIn } from "../src/question/shown.js";
import { failing, openStore, PLAN } from "../testing/helpers.js";

const FORM = '{"epsilon":2,"format":"localdp-questionnaire/1","parts":[{"asks":["diet"],"mechanism":"grr","places":1}],"questions":[{"domain":{"items":["vegan","meat"]},"name":"diet"}]}';
const GIVEN = { version: 2, question: "What do you drink?", labels: { tea: "Tea, of any kind", 3: "three" } };
const real = Date.now;
let later = 0;
Date.now = () => real() + later;
after(() => {
  Date.now = real;
});

/** A collector that gives this wording, keeps the version and the body of every upload, and answers as it is told. */
async function collecting(work, wording, ...statuses) {
  const seen = [];
  const http = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === "GET") return response.writeHead(wording === undefined ? 404 : 200).end(wording);
    seen.push([request.headers.wording, Buffer.concat(chunks).toString("hex"), request.headers["upload-id"]]);
    response.writeHead(statuses.shift() ?? 201).end();
  });
  await new Promise((ready) => { http.listen(0, "127.0.0.1", ready); });
  try {
    await work(`http://127.0.0.1:${http.address().port}`, seen);
  } finally {
    http.closeAllConnections();
    http.close();
  }
}

test("the wording is fetched, and the version that was shown is told, apart from the report", async () => {
  await collecting(async (upload, seen) => {
    const client = new Client(PLAN, { store: memoryStore(), upload });
    const shown = await client.wording();
    assert.deepEqual(shown, GIVEN);
    await client.sendOnce("tea", { wording: shown.version });
    await client.send("tea", undefined, 3);
    await client.send("tea");
    assert.deepEqual(seen.map(([version]) => version), ["2", "3", undefined]);
    assert.equal(new Set(seen.map(([, body]) => body)).size, 1);
    assert.equal((await client.learnt()).answers[0].title, GIVEN.question);
    for (const wording of [0, -1, 1.5, "2", 1000]) {
      await assert.rejects(client.sendOnce("tea", { wording }), { code: "invalid-input", message: /wording/ });
      await assert.rejects(client.send("tea", undefined, wording), { code: "invalid-input", message: /wording/ });
    }
    client.close();
  }, JSON.stringify(GIVEN));
});

for (const [what, document, value] of [["plan", PLAN, "tea"], ["study", FORM, { diet: "vegan" }]]) {
  test(`a report of a ${what} that waits keeps the version that was shown`, async () => {
    await collecting(async (upload, seen) => {
      const store = memoryStore();
      const first = new Client(document, { store, upload });
      assert.equal((await first.sendOnce(value, { wording: 2 })).waiting, 1);
      first.close();
      later += 100_000;
      const again = new Client(document, { store, upload });
      assert.equal((await again.sendOnce(value, { wording: 7 })).delivered, 1);
      again.close();
      assert.deepEqual(seen.map(([version]) => version), ["2", "2"]);
      assert.equal(new Set(seen.map(([, , id]) => id)).size, 1);
    }, undefined, 503);
  });

  test(`a ${what} whose store fails at any write is reported with the version that was shown first`, async () => {
    for (let turn = 0, failed = true; failed; turn++) {
      failed = false;
      const store = openStore();
      const told = [];
      const upload = (_, __, wording) => void told.push(wording);
      const broken = failing(store, (at) => (at === turn ? ((failed = true), "after") : undefined));
      const isWritten = async () => store.records.has("diary") && new TextDecoder().decode(store.records.get("diary")).includes('"wording"');
      await new Client(document, { store: broken, upload }).sendOnce(value, { wording: 2 }).catch(() => {});
      const expected = (await isWritten()) ? 2 : 9;
      await new Client(document, { store, upload }).sendOnce(value, { wording: 9 });
      assert.deepEqual([...new Set(told)], [expected], `turn ${turn}`);
      assert.ok(turn < 40);
    }
  });
}

test("a collector that gives no wording has none, and nothing is told", async () => {
  for (const said of [undefined, "", "nonsense", "null", '{"version":1,"question":{"toString":1},"labels":{}}']) {
    await collecting(async (upload, seen) => {
      const client = new Client(PLAN, { store: memoryStore(), upload });
      assert.equal(await client.wording(), undefined);
      await client.sendOnce("tea");
      client.close();
      assert.equal(seen[0][0], undefined);
      assert.equal(`${(await client.learnt()).answers[0].title}`, "undefined"); // people can see what they have told
    }, said);
  }
});

test("people read labels of the collection's own, and else the items", () => {
  const { question, version, label } = shownIn(GIVEN);
  assert.deepEqual([question, version], [GIVEN.question, 2]);
  assert.deepEqual(["tea", "coffee", 3, true, "constructor", "__proto__"].map(label), ["Tea, of any kind", "coffee", "three", "true", "constructor", "__proto__"]);
  for (const bad of [undefined, null, 7, [], {}, { version: "2", question: "x" }, { version: 0, labels: { tea: "x" } }, { version: 1000 }]) {
    const none = shownIn(bad);
    assert.deepEqual([none.question, none.version, none.label("tea")], ["", undefined, "tea"]);
  }
  assert.equal(shownIn({ version: 1, question: {}, labels: null }).question, "");
  assert.equal(shownIn({ version: 1, question: "", labels: { tea: { toString: 1 } } }).label("tea"), "tea");
});
