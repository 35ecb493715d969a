// The parts that golden vectors do not reach: primitives against Node's own, exact draws, and where random bits come
// from.

import assert from "node:assert/strict";
import { createCipheriv, createHash, createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { encrypt, expandKey } from "../src/aes.js";
import {
  freshWords,
  keyedWords,
  LocalDPError,
  Plan,
  PlanError,
  PlanLimitError,
  UnknownItemError,
} from "../src/index.js";
import { Words } from "../src/random.js";
import { hmac, sha256 } from "../src/sha256.js";

/** @param {number} length */
const someBytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 167 + length * 31) & 255);

const GRR =
  '{"domain":{"items":["tea","coffee"]},"epsilon":1,"format":"localdp-plan/1","mechanism":"grr",' +
  '"parameters":{"truth":"8524556932045589908"},"width":64}';

test("SHA-256 and HMAC are those of Node, for all lengths around a block", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = someBytes(length);
    assert.deepEqual(Buffer.from(sha256(bytes)), createHash("sha256").update(bytes).digest());
    assert.deepEqual(Buffer.from(hmac(bytes, bytes)), createHmac("sha256", bytes).update(bytes).digest());
  }
  const large = someBytes(1_000_003);
  assert.deepEqual(Buffer.from(sha256(large)), createHash("sha256").update(large).digest());
});

test("AES-128 is that of Node", () => {
  for (let i = 0; i < 100; i++) {
    const [key, plain] = [someBytes(16).map((byte) => byte ^ (i * 41)), someBytes(16).map((byte) => byte + i)];
    const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    const block = Int32Array.from({ length: 4 }, (_, at) => Buffer.from(plain).readInt32BE(4 * at));
    encrypt(expandKey(key), block);
    const expected = cipher.update(plain);
    assert.deepEqual(
      [...block],
      [0, 4, 8, 12].map((at) => expected.readInt32BE(at)),
    );
  }
});

test("a keystream goes on for megabytes as Node's counter mode does", () => {
  const key = someBytes(16);
  const expected = createCipheriv("aes-128-ctr", key, new Uint8Array(16)).update(new Uint8Array(2 ** 21));
  const words = keyedWords(key);
  for (let at = 0; at < expected.length; at += 8) {
    words.next();
    if (words.low !== expected.readUInt32LE(at) || words.high !== expected.readUInt32LE(at + 4))
      assert.fail(`at byte ${at}`);
  }
});

test("a number below a bound is the exact quotient, next to every edge too", () => {
  for (const bound of [
    2,
    3,
    7,
    16,
    100,
    255,
    16_470,
    2 ** 20 - 1,
    2 ** 20,
    2 ** 20 + 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
  ]) {
    const share = 2n ** 64n / BigInt(bound);
    const places = [0, 1, Math.floor(bound / 3), Math.floor(bound / 2), bound - 2, bound - 1, bound];
    for (const edge of places.map((place) => BigInt(place) * share)) {
      for (const word of [edge - 2n, edge - 1n, edge, edge + 1n, edge + 2n, edge + share / 2n]) {
        if (word < 0n || word >= 2n ** 64n) continue;
        const expected = word / share < BigInt(bound) ? Number(word / share) : 0; // a rejected word is followed by 0
        const words = wordsOf(word, 0n);
        assert.equal(words.below(bound), expected, `${word} below ${bound}`);
        assert.equal(words._at, expected === 0 && word >= share ? 4 : 2, "another number of words was read");
      }
    }
  }
  assert.equal(wordsOf().below(1), 0);
});

/** @param {...bigint} integers */
const wordsOf = (...integers) =>
  new Words(() => Uint32Array.from(integers.flatMap((word) => [Number(word & 0xffffffffn), Number(word >> 32n)])));

test("an event happens below its threshold only", () => {
  for (const threshold of [1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
    const halves = { low: Number(threshold & 0xffffffffn), high: Number(threshold >> 32n) };
    for (const word of [0n, threshold - 1n, threshold, threshold + 1n, 2n ** 64n - 1n]) {
      if (word < 2n ** 64n) assert.equal(wordsOf(word).event(halves), Number(word < threshold));
    }
  }
});

test("fresh words come from crypto.getRandomValues alone, in blocks of at most 65,536 bytes", (context) => {
  const sizes = /** @type {number[]} */ ([]);
  const real = crypto.getRandomValues.bind(crypto);
  context.mock.method(crypto, "getRandomValues", (/** @type {Uint32Array<ArrayBuffer>} */ block) => {
    sizes.push(block.byteLength);
    return real(block);
  });
  context.mock.method(Math, "random", () => assert.fail("Math.random was called"));
  const words = freshWords();
  const seen = new Set();
  for (let i = 0; i < 50_000; i++) {
    words.next();
    seen.add(words.high * 2 ** 21 + (words.low >>> 11));
  }
  assert.ok(seen.size > 49_990);
  assert.ok(
    sizes.every((size) => size <= 65_536),
    `${sizes}`,
  );
  assert.ok(sizes.reduce((sum, size) => sum + size) >= 8 * 50_000);
});

test("words that were used are cleared", () => {
  const words = keyedWords(new Uint8Array(16));
  for (let i = 0; i < 3; i++) words.next();
  assert.ok(words._block.subarray(0, words._at).every((half) => half === 0));
  assert.ok(words._block.subarray(words._at).some((half) => half !== 0));
});

test("the source never names Math.random", () => {
  const folder = new URL("../src/", import.meta.url);
  for (const file of readdirSync(folder, { recursive: true })) {
    if (String(file).endsWith(".js"))
      assert.doesNotMatch(readFileSync(new URL(String(file), folder), "utf8"), /Math\.random/);
  }
});

test("a plan may have other spaces, another order of keys and other escapes", () => {
  const plan = Plan.parse(GRR);
  const { width, ...rest } = JSON.parse(GRR);
  const other = JSON.stringify({ width, ...rest }, null, 2)
    .replace("tea", "\\u0074ea")
    .replace("64", "64.0");
  assert.notEqual(other, GRR);
  assert.equal(Plan.parse(other).fingerprint, plan.fingerprint);
});

test("numbered items past the limit are refused before anything is derived from them", () => {
  const plan = (mechanism, size, more = {}) =>
    JSON.stringify({ format: "localdp-plan/1", domain: { size }, mechanism, epsilon: 0.5, width: 64, parameters: {}, ...more });
  for (const [mechanism, more] of [["oue", {}], ["oue+sue", { once: 0.2 }], ["privset", { set_size: 256 }], ["grr", {}]]) {
    // Its parameters are wrong, which is found out only by deriving them.
    assert.throws(() => Plan.parse(plan(mechanism, 100_000, more)), { name: "PlanError", message: /altered/ });
    for (const size of [100_001, 2 ** 32]) assert.throws(() => Plan.parse(plan(mechanism, size, more)), PlanLimitError);
    for (const size of [2 ** 32 + 1, "100001", [100_001]]) assert.throws(() => Plan.parse(plan(mechanism, size, more)), { name: "PlanError", message: /size/ });
  }
});

test("the limits are those of the Python client unless they are given", () => {
  const asking = GRR.replace('"epsilon":1', '"epsilon":4.000001');
  assert.throws(() => Plan.parse(asking), { name: "PlanLimitError", code: "plan-limit", message: /at most 4$/ });
  assert.throws(() => Plan.parse(GRR, { needsOther: true }), PlanLimitError);
  for (const other of ["", 0, false]) {
    const domain = JSON.stringify({ items: ["tea", other], other }); // each is a catch-all item like any other
    assert.equal(Plan.parse(GRR.replace('{"items":["tea","coffee"]}', domain), { needsOther: true }).other, other);
  }
  assert.throws(() => Plan.parse(GRR, { mostItems: 1 }), PlanLimitError);
  for (const limits of [{ mostEpsilon: 0 }, { mostEpsilon: 17 }, { mostItems: 0.5 }, { mostReportBytes: 2 ** 25 }]) {
    assert.throws(() => Plan.parse(GRR, limits), { name: "InvalidInputError", code: "invalid-input" });
  }
});

test("errors have a class, a code and a sentence", () => {
  assert.throws(
    () => Plan.parse("{"),
    (error) => {
      assert.ok(error instanceof PlanError && error instanceof LocalDPError && error instanceof Error);
      assert.deepEqual([error.name, error.code], ["PlanError", "bad-plan"]);
      assert.match(error.message, /^this is not a plan: it is not text in JSON$/);
      return true;
    },
  );
  assert.throws(() => Plan.parse(/** @type {any} */ (7)), PlanError);
  const plan = Plan.parse(GRR);
  assert.throws(() => plan.index("cocoa"), { name: "UnknownItemError", code: "unknown-item" });
  assert.throws(() => plan.index(["tea"]), UnknownItemError);
  for (const index of [-1, 2, 0.5, NaN, "0"]) {
    assert.throws(() => plan.permanent(/** @type {any} */ (index), freshWords()), { code: "invalid-input" });
  }
  assert.throws(() => plan.batch(new Uint8Array(2)), { name: "WireError", code: "wrong-length" });
  assert.throws(() => plan.again(Uint8Array.of(2), freshWords()), { code: "nonzero-padding" });
});

test("a plan cannot be changed", () => {
  const plan = Plan.parse(GRR);
  assert.throws(() => Object.assign(plan, { epsilon: 0 }), TypeError);
  assert.throws(() => /** @type {any} */ (plan.items).push("cocoa"), TypeError);
});
