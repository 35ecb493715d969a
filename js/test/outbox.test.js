// Reports wait until they are delivered, and every attempt sends the same bytes with the same upload id.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Client, memoryStore, Plan } from "../src/index.js";
import { noPause, pauseAfter, secondsLeft } from "../src/client/pauses.js";
import { CHAIN, openStore, PLAN, server } from "../testing/helpers.js";

const now = Date.now;
let later = 0;
Date.now = () => now() + 1000 * later;
after(() => {
  Date.now = now;
});

/** Flush until nothing waits, each time after the pause is over. */
async function flushed(client) {
  let done;
  do {
    later += 100_000;
    done = await client.flush();
  } while (done.waiting);
  return done;
}

test("a report is delivered and forgotten", async () => {
  const upload = server();
  const client = new Client(PLAN, { store: memoryStore(), upload });
  assert.deepEqual(await client.send("tea"), { delivered: 1, waiting: 0, pause: 0, dropped: [], trouble: "", asked: true });
  const [id, body] = upload.seen[0].split(" ");
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(body, String(await client.report("tea")));
  assert.equal((await client.flush()).delivered, 0);
});

for (const trouble of [503, 500, 429, 408, 425, 302, 0, 401, 403, 404, new TypeError("no network")]) {
  test(`${trouble} makes a report wait, and it is tried again with the same bytes and id`, async () => {
    const upload = server(...Array(20).fill(trouble));
    const client = new Client(CHAIN, { store: memoryStore(), upload });
    const first = await client.send("tea");
    assert.deepEqual([first.delivered, first.waiting, first.dropped], [0, 1, []]);
    assert.match(first.trouble, /the server answered|there was no answer/);
    assert.ok(first.pause >= 0.5 && first.pause <= 1);
    assert.equal((await client.flush()).delivered, 0);
    assert.equal(upload.seen.length, 1); // the pause is not over
    assert.equal((await flushed(client)).delivered, 1);
    assert.equal(upload.seen.length, 21);
    assert.equal(new Set(upload.seen).size, 1);
  });
}

for (const status of [400, 409, 410, 413, 415, 422]) {
  test(`${status} drops a report and says so`, async () => {
    const client = new Client(PLAN, { store: memoryStore(), upload: server(status) });
    const done = await client.send("tea");
    assert.deepEqual([done.delivered, done.waiting], [0, 0]);
    assert.deepEqual(done.dropped, [`a report was dropped, because it can never be delivered: the server answered ${status}`]);
  });
}

test("a report waits for the next visit", async () => {
  const store = memoryStore();
  const first = server(new TypeError("no network"));
  await new Client(CHAIN, { store, upload: first }).send("tea");
  const second = server();
  const client = new Client(CHAIN, { store, upload: second });
  assert.equal(await client.waiting(), 1);
  assert.equal((await flushed(client)).delivered, 1);
  assert.deepEqual(second.seen, first.seen);
  const other = server();
  assert.equal((await new Client(PLAN, { store, upload: other }).flush()).delivered, 0);
});

test("the outbox is bounded, and a full one spends nothing", async () => {
  const client = new Client(PLAN, { store: memoryStore(), upload: server(...Array(3).fill(503)), mostWaiting: 2 });
  await client.send("tea");
  await client.send("tea");
  await assert.rejects(client.send("coffee"), { name: "OutboxFullError", code: "outbox-full", message: /2 reports wait.*no more are taken/ });
  assert.equal(await client.spent(), Plan.parse(PLAN).epsilon);
  await flushed(client);
  assert.equal((await client.send("coffee")).delivered, 1);
  for (const mostWaiting of [0, 1.5, -1, "2"]) {
    assert.throws(() => new Client(PLAN, { store: memoryStore(), mostWaiting }), /mostWaiting must be a whole number from 1 to 1000000/);
  }
});

test("many sends at the same time deliver every report once", async () => {
  const upload = server();
  const store = memoryStore();
  const clients = [1, 2].map(() => new Client(CHAIN, { store, upload }));
  await Promise.all(Array.from({ length: 20 }, (_, i) => clients[i % 2].send("tea")));
  assert.equal(upload.seen.length, 20);
  assert.equal(new Set(upload.seen.map((seen) => seen.split(" ")[0])).size, 20);
  assert.equal(await clients[0].waiting(), 0);
});

test("one bad report does not keep the others waiting for ever", async () => {
  const store = memoryStore();
  const blocked = new Client(PLAN, { store, upload: async () => 503 });
  for (let i = 0; i < 6; i++) await blocked.send("tea");
  let bad;
  const client = new Client(PLAN, { store, upload: async (_, id) => (id === (bad ??= id) ? 500 : 201) });
  for (let i = 0; i < 300 && (await client.waiting()) > 1; i++) {
    later += 100_000;
    await client.flush();
  }
  assert.equal(await client.waiting(), 1);
});

test("damaged reports are not sent, and that is said", async () => {
  const store = openStore();
  await new Client(PLAN, { store, upload: server(503) }).send("tea");
  const [name] = [...store.records.keys()].filter((key) => key.startsWith("outbox"));
  const damage = () => (store.records.get(name)[30] ^= 1);
  damage();
  const upload = server();
  const client = new Client(PLAN, { store, upload });
  assert.equal(await client.waiting(), 0);
  const done = await client.flush();
  assert.match(done.dropped[0], /what was stored is damaged/);
  assert.deepEqual(upload.seen, []);
  assert.deepEqual((await client.flush()).dropped, []);
  damage();
  assert.match((await client.send("tea")).dropped[0], /damaged/);
  assert.equal(upload.seen.length, 1);
});

test("a report that cannot be kept is not sent", async () => {
  const store = memoryStore();
  const upload = server();
  const full = { change: (name, update) => store.change(name, (before) => {
    const after = update(before);
    if (after && name !== "device") throw new Error("no space left");
    return after;
  }) };
  await assert.rejects(new Client(PLAN, { store: full, upload }).send("tea"), { name: "StoreError" });
  assert.deepEqual(upload.seen, []);
});

test("a client without an address cannot send", async () => {
  const client = new Client(PLAN, { store: memoryStore() });
  await assert.rejects(client.send("tea"), /a client needs the option upload/);
  await assert.rejects(client.flush(), /a client needs the option upload/);
  assert.equal(await client.spent(), 0);
});

test("pauses double with some chance in them, and end with a success", () => {
  let pause = noPause();
  assert.equal(secondsLeft(pause), 0);
  const lengths = new Set();
  for (let failures = 0; failures < 80; failures++) {
    pause = pauseAfter(pause);
    const most = Math.min(3600, 2 ** failures);
    assert.ok(pause.length >= most / 2 && pause.length <= most);
    assert.ok(Math.abs(secondsLeft(pause) - pause.length) < 1);
    lengths.add(pause.length);
  }
  assert.ok(lengths.size > 70);
});

test("a server is left alone as long as it asks, up to a day", () => {
  const asked = pauseAfter(noPause(), 100).length;
  assert.ok(asked >= 100 && asked <= 125);
  assert.ok(pauseAfter(noPause(), 1e9).length <= 1.25 * 86_400);
  assert.ok(pauseAfter(noPause(), -5).length <= 1);
});

test("a clock that goes back ends a pause", () => {
  const pause = pauseAfter(noPause(), 60);
  later -= 1;
  assert.equal(secondsLeft(pause), 0);
  later += 1 + 30;
  assert.ok(secondsLeft(pause) > 29);
  later += 86_400;
  assert.equal(secondsLeft(pause), 0);
});

test("the segment of a device is sent in the clear, and only as a label", async () => {
  const seen = [];
  const http = createServer((request, response) => {
    seen.push(request.headers.segment);
    request.resume().on("end", () => response.writeHead(201).end());
  });
  await new Promise((ready) => { http.listen(0, "127.0.0.1", ready); });
  try {
    const client = new Client(PLAN, { store: memoryStore(), upload: `http://127.0.0.1:${http.address().port}`, segment: "Android 15" });
    assert.equal((await client.send("tea")).delivered, 1);
    client.close();
  } finally {
    http.close();
  }
  assert.deepEqual(seen, ["Android 15"]);
  assert.throws(() => new Client(PLAN, { store: memoryStore(), upload: "https://a.example", segment: "a\nb" }), /labels that the collection lists/);
});

test("addresses and tokens are checked", () => {
  const make = (upload, token) => () => new Client(PLAN, { store: memoryStore(), upload, token });
  for (const bad of ["ftp://a.example", "nonsense", "http://", "https://a.example/#x", "https://a.example?x=1", "javascript:1"]) {
    assert.throws(make(bad), /reports are uploaded to an http:\/\/ or https:\/\/ address, not to/);
  }
  assert.throws(make("https://user:password@a.example"), /no user name and no password/);
  assert.throws(make("http://a.example", "secret"), /a token is sent to https:\/\/ addresses only/);
  assert.throws(make("http://127.0.0.1.example", "secret"), /a token is sent to https:\/\/ addresses only/);
  assert.throws(make("https://a.example", "two words"), /visible ASCII characters without spaces/);
  assert.throws(make("https://a.example", "line\nbreak"), /visible ASCII characters without spaces/);
  for (const good of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", "https://a.example"]) make(good, "secret")();
  assert.throws(make(7), { name: "InvalidInputError", message: /upload is an address or a function/ });
});

test("a real server gets the route, the headers and the bytes; its Retry-After is obeyed and redirections are not", async () => {
  const seen = [];
  const answers = [[503, { "Retry-After": "120" }], [302, { Location: "/elsewhere" }], [201, {}]];
  const http = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.push([request.method, request.url, request.headers, Buffer.concat(chunks)]);
    const [status, headers] = answers.shift();
    response.writeHead(status, headers).end("some words");
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  try {
    const client = new Client(PLAN, { store: memoryStore(), upload: `http://127.0.0.1:${http.address().port}`, token: "secret" });
    const first = await client.send("tea");
    assert.ok(first.pause >= 120 && first.pause <= 150);
    assert.equal(first.trouble, "the server answered 503: some words");
    assert.equal((await flushed(client)).delivered, 1);
    assert.equal(seen.length, 3);
    for (const [method, url, headers, body] of seen) {
      assert.equal(method, "POST");
      assert.equal(url, `/v1/plans/${client.plan.fingerprint}/reports`);
      assert.equal(headers["content-type"], "application/octet-stream");
      assert.equal(headers.authorization, "Bearer secret");
      assert.equal(headers["upload-id"], seen[0][2]["upload-id"]);
      assert.ok(body.equals(await client.report("tea")));
    }
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

test("the words of a server are shown on one line, without characters that change a terminal", async () => {
  const said = ['{"detail":"a \\u001b[31mred\\n  line"}', "a \u001b[31mred\r\n\tline\u202e", "<html>a page</html>", "null"];
  const http = createServer((_, response) => response.writeHead(500).end(said.shift()));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  try {
    for (const words of [": a [31mred line", ": a [31mred line", "", ": null"]) {
      const client = new Client(PLAN, { store: memoryStore(), upload: `http://127.0.0.1:${http.address().port}` });
      assert.equal((await client.send("tea")).trouble, `the server answered 500${words}`);
      client.close();
    }
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

test("a client that was closed tries nothing by itself", async () => {
  const client = new Client(PLAN, { store: memoryStore(), upload: server(503) });
  client.close();
  assert.equal((await client.send("tea")).waiting, 1);
});

test("a plan or a part at an address that is redirected is not fetched from elsewhere", async () => {
  const seen = [];
  const http = createServer((request, response) => {
    seen.push(request.url);
    if (request.url.startsWith("/elsewhere")) response.end(PLAN);
    else response.writeHead(308, { Location: "/elsewhere" }).end();
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${http.address().port}`;
  try {
    const loading = Client.load(`${address}/v1/plans/x`, { store: memoryStore() });
    await assert.rejects(loading, { code: "no-plan", message: /is redirected: give the address that it leads to/ });
    const discovery = JSON.parse(readFileSync(new URL("../../vectors/v1/studies.json", import.meta.url), "utf8")).parts[0];
    const client = new Client(discovery.study, { store: memoryStore(), upload: address });
    assert.match((await client.sendOnce("tea")).trouble, /the part could not be fetched: .* is redirected/);
    assert.equal(seen.length, 2);
    assert.ok(!seen.includes("/elsewhere"));
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

test("an address that ends with a fingerprint gives the plan that has it, or none", async () => {
  const http = createServer((_, response) => response.end(PLAN));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${http.address().port}/v1/plans`;
  const { fingerprint } = Plan.parse(PLAN);
  try {
    for (const good of [fingerprint, `${fingerprint}/`, fingerprint.slice(0, 16), "drinks", "c0123456789abcdef0123"]) {
      assert.equal((await Client.load(`${address}/${good}`, { store: memoryStore() })).fingerprint, fingerprint);
    }
    const other = Plan.parse(CHAIN).fingerprint;
    for (const bad of [other, other.slice(0, 16)]) {
      await assert.rejects(Client.load(`${address}/${bad}`, { store: memoryStore() }), { name: "PlanMismatchError", message: /there is another plan at/ });
    }
  } finally {
    http.closeAllConnections();
    http.close();
  }
});
