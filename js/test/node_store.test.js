// A store in a folder survives kills, full disks and other processes.

import assert from "node:assert/strict";
import promises, { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { Client, Plan } from "../src/index.js";
import { fileStore } from "../src/node.js";
import { PLAN, server } from "../testing/helpers.js";

const here = (name) => new URL(name, import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), "localdp-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const newFolder = () => join(mkdtempSync(join(scratch, "f-")), "deep", "store");
const EPSILON = Plan.parse(PLAN).epsilon;

/** What a process gave out: the report of each value. */
function released(log) {
  const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
  return new Map(lines.filter((line) => !line.startsWith("done")).map((line) => line.split(" ")));
}

test("a device lasts, and only its owner can read it", async () => {
  const folder = newFolder();
  const first = new Client(PLAN, { store: fileStore(folder), upload: server(503) });
  const report = String(await first.report("tea"));
  await first.send("coffee");
  assert.equal(String(await new Client(PLAN, { store: fileStore(folder) }).report("tea")), report);
  assert.equal(await new Client(PLAN, { store: fileStore(folder) }).spent(), 2 * EPSILON);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  for (const file of readdirSync(folder)) {
    assert.equal(statSync(join(folder, file)).mode & 0o077, 0);
    assert.ok(!readFileSync(join(folder, file)).includes("coffee"));
  }
});

test("a process that is killed at any file operation leaves no store that knows of less than was released", async () => {
  let killed = 0;
  for (let at = 1; ; at++) {
    const folder = newFolder();
    const log = `${folder}.log`;
    const first = spawnSync(process.execPath, [here("../testing/device_process.js"), folder, log, String(at), "tea", "coffee"]);
    const before = released(log);
    const client = new Client(PLAN, { store: fileStore(folder) });
    assert.ok((await client.spent()) >= before.size * EPSILON);
    for (const [value, report] of before) assert.equal(String(await client.report(value)), report);
    await client.report("coffee");
    await client.report("tea");
    assert.equal(await client.spent(), 2 * EPSILON);
    if (first.signal !== "SIGKILL") {
      assert.equal(first.status, 0, String(first.stderr));
      assert.equal(before.size, 2);
      break;
    }
    killed++;
  }
  assert.ok(killed > 20);
});

test("processes at the same time neither lose spending nor pay twice", async () => {
  const folder = newFolder();
  const runs = [["tea", "coffee"], ["coffee", "wäter"], ["wäter", "tea"]].map((values, i) =>
    promisify(execFile)(process.execPath, [here("../testing/device_process.js"), folder, `${folder}.${i}.log`, "0", ...values]));
  await Promise.all(runs);
  const client = new Client(PLAN, { store: fileStore(folder) });
  for (const i of runs.keys()) {
    for (const [value, report] of released(`${folder}.${i}.log`)) assert.equal(String(await client.report(value)), report);
  }
  assert.equal(await client.spent(), 3 * EPSILON);
});

test("no change is lost by processes that write at the same time", async () => {
  const folder = newFolder();
  await Promise.all([1, 2, 3].map((byte) => promisify(execFile)(process.execPath, [here("../testing/changing_process.js"), folder, "40", String(byte)])));
  let found;
  await fileStore(folder).change("record", (bytes) => void (found = bytes));
  assert.deepEqual([1, 2, 3].map((byte) => found.filter((each) => each === byte).length), [40, 40, 40]);
  assert.ok(readdirSync(folder).length <= 12);
});

test("a process that was slow between reading and writing finds out", async () => {
  for (const times of [1, 3, 4, 5, 9]) {
    const folder = newFolder();
    const store = fileStore(folder);
    await store.change("record", () => Uint8Array.of(7));
    let calls = 0;
    await store.change("record", (before) => {
      if (!calls++) execFileSync(process.execPath, [here("../testing/changing_process.js"), folder, String(times), "1"]);
      return before.includes(9) ? undefined : Uint8Array.of(...before, 9);
    });
    let found;
    await store.change("record", (bytes) => void (found = bytes));
    assert.deepEqual([...found], [7, ...Array(times).fill(1), 9]);
    assert.ok(calls >= 2);
  }
});

test("a damaged record fails closed, and an unreadable one is not a missing one", async () => {
  const folder = newFolder();
  await new Client(PLAN, { store: fileStore(folder) }).report("tea");
  const [file] = readdirSync(folder).filter((name) => name.startsWith("device."));
  const good = readFileSync(join(folder, file));
  writeFileSync(join(folder, file), "");
  await assert.rejects(new Client(PLAN, { store: fileStore(folder) }).report("tea"), { name: "StoreError", message: /damaged/ });
  writeFileSync(join(folder, file), good);
  rmSync(join(folder, file));
  mkdirSync(join(folder, file)); // a folder in the place of the file cannot be read, also by root
  await assert.rejects(new Client(PLAN, { store: fileStore(folder) }).report("tea"), { name: "StoreError", message: /EISDIR/ });
});

test("a folder that cannot be made or written is explained", async () => {
  const file = join(scratch, "file");
  writeFileSync(file, "");
  await assert.rejects(new Client(PLAN, { store: fileStore(file) }).report("tea"), { name: "StoreError", message: /cannot be read or written, so it reports nothing/ });
  if (existsSync("/proc/self")) await assert.rejects(new Client(PLAN, { store: fileStore("/proc/none/store") }).report("tea"), /ENOENT/);
  if (process.getuid() === 0) return;
  const folder = newFolder();
  await new Client(PLAN, { store: fileStore(folder) }).report("tea");
  chmodSync(folder, 0o500);
  await assert.rejects(new Client(PLAN, { store: fileStore(folder) }).report("coffee"), { name: "StoreError", message: /EACCES/ });
  chmodSync(folder, 0o700);
});

/** A folder with the store of a device whose secret somebody knows. */
async function planted() {
  const folder = newFolder();
  await new Client(PLAN, { store: fileStore(folder), upload: server(503) }).send("tea");
  return folder;
}

const onUnix = { skip: !process.geteuid };
const onlyRoot = { skip: process.geteuid?.() !== 0 && "only root can give files away" };
const refused = (folder, message) => assert.rejects(new Client(PLAN, { store: fileStore(folder) }).report("tea"), { name: "StoreError", message });

test("a folder that others may write to is refused, whoever planted a store there", onUnix, async () => {
  const folder = await planted();
  for (const mode of [0o777, 0o770, 0o702]) {
    chmodSync(folder, mode);
    await refused(folder, /other users may write to .*chmod go-w/);
    const empty = mkdtempSync(join(scratch, "e-"));
    chmodSync(empty, mode);
    await refused(empty, /other users may write to/);
    assert.deepEqual(readdirSync(empty), []);
  }
  chmodSync(folder, 0o755); // sizes and times would tell what was paid for
  await new Client(PLAN, { store: fileStore(folder) }).report("tea");
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  writeFileSync(join(folder, "page.html"), "hello");
  chmodSync(folder, 0o755); // it is not the device's alone
  await new Client(PLAN, { store: fileStore(folder) }).report("tea");
  assert.equal(statSync(folder).mode & 0o777, 0o755);
});

test("a folder of another user is refused, and so is a file of one", onlyRoot, async () => {
  const folder = await planted();
  chownSync(folder, 12345, 12345);
  await refused(folder, /belongs to another user .*number 12345/);
  chownSync(folder, 0, 0);
  const file = join(folder, readdirSync(folder).find((name) => name.startsWith("device.")));
  chownSync(file, 12345, 12345);
  await refused(folder, /device\.\d+ belongs to another user .*number 12345/);
});

test("a folder of the system is refused by everybody else", { skip: !process.geteuid || process.geteuid() === 0 }, async () => {
  await refused("/", /belongs to another user .*number 0/);
});

test("permissions that a record got meanwhile are taken away when it is read", onUnix, async () => {
  const folder = newFolder();
  await new Client(PLAN, { store: fileStore(folder) }).report("tea");
  const [file] = readdirSync(folder);
  chmodSync(join(folder, file), 0o666);
  await new Client(PLAN, { store: fileStore(folder) }).spent();
  assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
});

test("what is left of a device whose record is gone is not a new device", async () => {
  const folder = await planted();
  for (const file of readdirSync(folder)) if (file.startsWith("device.")) rmSync(join(folder, file));
  const left = readdirSync(folder);
  assert.ok(left.length);
  for (const attempt of [1, 2]) await refused(folder, /its record is gone/, attempt);
  await assert.rejects(new Client(PLAN, { store: fileStore(folder) }).spent(), /its record is gone/);
  assert.deepEqual(readdirSync(folder), left);
  for (const name of ["device", "device.copy", "outbox", "surveys", "discoveries"]) {
    const python = newFolder(); // what the Python client keeps there
    mkdirSync(join(python, name), { recursive: true });
    await refused(python, /its record is gone/);
  }
  for (const name of ["devices", "lock", "outbox.txt", "device.0a~"]) {
    const own = newFolder(); // somebody else's, or the unfinished record of a process that was killed before the first report
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, name), "");
    await new Client(PLAN, { store: fileStore(own) }).report("tea");
  }
});

for (const [what, first, options] of [
  ["an opt-out that is taken back", async (client) => (await client.optOut(), await client.optIn())],
  ["forget", (client) => client.forget()],
  ["what was learnt, under a cap for every year", (client) => client.learnt(), { mostEvery: "year" }],
  ["a report, under a cap for every year", (client) => client.report("coffee"), { mostEvery: "year" }],
]) {
  test(`a device whose first use is ${what} is no device that was lost`, async () => {
    const store = fileStore(newFolder());
    await first(new Client(PLAN, { store, ...options }));
    const report = await new Client(PLAN, { store, ...options }).report("tea");
    assert.equal(String(await new Client(PLAN, { store }).report("tea")), String(report));
  });
}

test("an owner can have answers forgotten also where the record of the device is damaged", async () => {
  const folder = newFolder();
  const store = fileStore(folder);
  await new Client(PLAN, { store, upload: server(503) }).sendOnce("tea");
  writeFileSync(join(folder, "device.99"), "");
  await new Client(PLAN, { store }).optOut();
  const client = new Client(PLAN, { store });
  assert.deepEqual([await client.optedOut(), await client.waiting()], [true, 0]);
});

test("what an owner had forgotten is in no file of the folder", async () => {
  const folder = newFolder();
  const client = new Client(PLAN, { store: fileStore(folder), upload: server(503, 503) });
  const told = () => readdirSync(folder).filter((file) => /"body":"|"last":"|\["[0-9a-f]{32}",/.test(readFileSync(join(folder, file), "latin1")));
  await client.sendOnce("tea");
  await client.send("coffee");
  client.close();
  assert.equal(told().length, 2);
  await client.forget();
  assert.deepEqual(told(), []);
});

test("a record that is emptied while somebody looks for it is looked for again, and the newest one is never taken for old", async () => {
  const folder = newFolder();
  const store = fileStore(folder);
  const write = (/** @type {string} */ text) => store.change("thing", () => new TextEncoder().encode(text));
  await write("first");
  const real = promises.readdir;
  let turn = 0;
  promises.readdir = async (...given) => {
    const found = await real(...given);
    if (turn++ === 0) await fileStore(folder).change("thing", () => new TextEncoder().encode("second"));
    return found;
  };
  syncBuiltinESMExports();
  const read = async () => {
    let found;
    await store.change("thing", (bytes) => void (found = new TextDecoder().decode(bytes)));
    return found;
  };
  try {
    assert.equal(await read(), "second");
  } finally {
    promises.readdir = real;
    syncBuiltinESMExports();
  }
  writeFileSync(join(folder, "thing.2"), ""); // the disk has lost it
  assert.equal(await read(), "");
});

test("what a killed process left is removed after a while", async () => {
  const folder = newFolder();
  const client = new Client(PLAN, { store: fileStore(folder) });
  await client.report("tea");
  for (const name of ["device.old~", "device.new~"]) writeFileSync(join(folder, name), "secret");
  utimesSync(join(folder, "device.old~"), 1, 1);
  await client.report("coffee");
  assert.ok(!existsSync(join(folder, "device.old~")));
  assert.ok(existsSync(join(folder, "device.new~")));
});

/** What a function does to the disk, in order. */
async function onDisk(folder, work) {
  const handle = await open(folder, "r");
  const files = Object.getPrototypeOf(handle);
  await handle.close();
  const { link } = promises;
  const { writeFile, sync } = files;
  const done = [];
  files.writeFile = function (...given) {
    done.push("write");
    return writeFile.apply(this, given);
  };
  files.sync = async function () {
    done.push((await this.stat()).isDirectory() ? "flush the folder" : "flush the record");
    return sync.apply(this);
  };
  promises.link = (...given) => {
    done.push("link");
    return link(...given);
  };
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    Object.assign(files, { writeFile, sync });
    promises.link = link;
    syncBuiltinESMExports();
  }
  return done;
}

test("a record is flushed before it is linked, and the folder after that", async () => {
  const folder = newFolder();
  await fileStore(folder).change("device", () => new Uint8Array(9)); // the folders are made
  const done = await onDisk(folder, () => fileStore(folder).change("device", () => new Uint8Array(9)));
  assert.deepEqual(done, ["write", "flush the record", "link", "flush the folder"]);
});

test("a payment of another process is flushed before a report is given out for it", async () => {
  const folder = newFolder();
  const report = String(await new Client(PLAN, { store: fileStore(folder) }).report("tea")); // and it may have been killed
  const client = new Client(PLAN, { store: fileStore(folder) });
  let again;
  const done = await onDisk(folder, async () => (again = String(await client.report("tea"))));
  assert.equal(again, report);
  assert.deepEqual(done, ["flush the folder"]);
  assert.deepEqual(await onDisk(folder, () => client.spent()), []); // it is known to be there
  await new Client(PLAN, { store: fileStore(folder) }).report("coffee");
  assert.deepEqual(await onDisk(folder, () => client.report("coffee")), ["flush the folder"]);
});
