// The golden vectors, run by this module. Nothing here needs Node: a page fetches the files and calls `runVectors`.

import * as source from "../src/index.js";
import { linearHash, localHash, LOW_TERMS } from "../src/mechanisms/hashing.js";
import { readBatch } from "./read_batch.js";
import { tapeWords } from "./tape_words.js";

const ALL = { mostEpsilon: 16, mostReportBytes: 2 ** 24, mostItems: 2 ** 32 };

/** The files in `vectors/v1/`, without their extension. */
export const FILES = [
  ...["grr", "sue", "oue", "ss", "olh", "blh", "llh", "slh", "hr", "dbit", "cms", "hcms", "wave"],
  ...["grr+grr", "sue+sue", "oue+oue", "oue+sue", "sue+oue"],
  ...["hash", "field", "domain", "scale", "plans", "devices", "sets"],
];

/**
 * Run the vectors of all files, which are given by name as parsed JSON. `failures` says in words what differs.
 * @param {Record<string, any>} files
 * @param {typeof source} localdp the module to test: its source, unless another one is given
 * @returns {{ cases: number, failures: string[] }}
 */
export function runVectors(files, localdp = source) {
  const failures = [];
  let cases = 0;
  for (const [file, content] of Object.entries(files)) {
    const run = RUNS[file] ?? mechanism;
    for (const [what, check] of run(content, localdp)) {
      cases++;
      try {
        const difference = check();
        if (difference) failures.push(`${file}: ${what}: ${difference}`);
      } catch (error) {
        failures.push(`${file}: ${what}: ${error instanceof Error ? error.stack : error}`);
      }
    }
  }
  return { cases, failures };
}

/** @typedef {Iterable<[string, () => string | undefined]>} Checks */

/** @type {Record<string, (content: any, localdp: typeof source) => Checks>} */
const RUNS = { hash, field, domain, scale: domain, plans, devices };

/** @type {(content: any, localdp: typeof source) => Checks} */
function* mechanism({ good, bad }, { Plan }) {
  for (const [i, vector] of good.entries()) {
    const plan = Plan.parse(vector.plan, ALL);
    const held = plan.index(vector.values ?? vector.value);
    const permanent = vector.permanent ?? { random: vector.random, response: vector.report };
    yield [`good ${i}, fingerprint`, () => differs(plan.fingerprint, vector.fingerprint)];
    yield [
      `good ${i}, response`,
      () => {
        const tape = tapeWords(bytesOfHex(permanent.random));
        return differs(base64(plan.permanent(held, tape)), permanent.response) ?? allUsed(tape);
      },
    ];
    yield [`good ${i}, batch`, () => differs(base64(plan.batch(bytes(vector.report))), vector.batch)];
    yield [
      `good ${i}, read`,
      () => differs(base64(readBatch(plan, vector.plan, bytes(vector.batch))[0]), vector.report),
    ];
    for (const [turn, { random, report }] of (vector.again ?? []).entries()) {
      yield [
        `good ${i}, again ${turn}`,
        () => {
          const tape = tapeWords(bytesOfHex(random));
          return differs(base64(plan.again(bytes(permanent.response), tape)), report) ?? allUsed(tape);
        },
      ];
    }
  }
  for (const { what, plan, batch, json, code } of bad) {
    yield [
      `bad, ${what}`,
      () =>
        differs(
          codeOf(() => readBatch(Plan.parse(plan, ALL), plan, json ?? bytes(batch))),
          code,
        ),
    ];
  }
}

/** @type {(content: any) => Checks} */
function* hash(vectors) {
  for (const { seed, item, symbols, symbol } of vectors) {
    yield [`item ${item} under ${seed}`, () => differs(localHash(seed, item, symbols), symbol)];
  }
}

/** @type {(content: any) => Checks} */
function* field({ polynomials, hashes }) {
  for (const [degree, polynomial] of Object.entries(polynomials)) {
    yield [`polynomial ${degree}`, () => differs(2 ** Number(degree) + LOW_TERMS[Number(degree) - 1], polynomial)];
  }
  for (const { degree, bits, multiplier, item, symbol } of hashes) {
    yield [`item ${item} times ${multiplier}`, () => differs(linearHash(multiplier, item, degree, bits), symbol)];
  }
}

/** @type {(content: any, localdp: typeof source) => Checks} */
function* domain(vectors, { Plan }) {
  for (const [i, vector] of vectors.entries()) {
    const plan = Plan.parse(typeof vector.plan === "string" ? vector.plan : JSON.stringify(vector.plan), ALL);
    yield [`plan ${i}, fingerprint`, () => differs(plan.fingerprint, vector.fingerprint)];
    yield [`plan ${i}, indices`, () => differs(`${vector.values.map(plan.index, plan)}`, `${vector.indices}`)];
  }
}

/** @type {(content: any, localdp: typeof source) => Checks} */
function* plans({ good, bad }, { Plan }) {
  for (const { plan: text, fingerprint, epsilon, epsilon_once: once } of good) {
    const plan = Plan.parse(text, ALL);
    yield [`${text}, fingerprint`, () => differs(plan.fingerprint, fingerprint)];
    yield [`${text}, epsilon`, () => differs(plan.epsilon, epsilon) ?? differs(plan.epsilonOnce, once)];
    yield [`${text}, set size`, () => differs(plan.setSize, JSON.parse(text).set_size)];
  }
  for (const { what, plan, limits, code } of bad) {
    yield [
      `bad, ${what}`,
      () =>
        differs(
          codeOf(() => Plan.parse(plan, { ...ALL, ...camel(limits) })),
          code,
        ),
    ];
  }
}

/** @type {(content: any, localdp: typeof source) => Checks} */
function* devices({ words, responses, sets }, { Plan, deviceKeys, keyedWords }) {
  for (const { key, words: expected } of words) {
    yield [
      `words of ${key}`,
      () => {
        const stream = keyedWords(bytesOfHex(key));
        return differs(expected.map(() => (stream.next(), `${stream.integer}`)).join(), expected.join());
      },
    ];
  }
  for (const [i, given] of [...responses, ...sets].entries()) {
    const { secret, plan: text, indices, index = indices, values, key, digest, response } = given;
    yield [
      `response ${i}`,
      () => {
        const plan = Plan.parse(text, ALL);
        const keys = deviceKeys(bytesOfHex(secret), plan.fingerprint);
        const made = plan.permanent(index, keyedWords(keys.key(index)));
        return (
          (values && differs(JSON.stringify(plan.index(values)), JSON.stringify(indices))) ??
          differs(hex(keys.key(index)), key) ??
          differs(hex(keys.digest(index)), digest) ??
          differs(base64(made), response)
        );
      },
    ];
  }
}

/** @param {unknown} found @param {unknown} expected */
const differs = (found, expected) => (found === expected ? undefined : `${found} instead of ${expected}`);

/** @param {import("../src/random.js").Words} tape */
const allUsed = (tape) => (tape._at === tape._block.length ? undefined : "not all random bytes were used");

/** @param {() => unknown} attempt */
function codeOf(attempt) {
  try {
    attempt();
  } catch (error) {
    return /** @type {any} */ (error).code ?? String(error);
  }
  return "no error";
}

/** @param {Record<string, unknown>} limits */
const camel = (limits = {}) =>
  Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name.replace(/_(.)/g, (_, c) => c.toUpperCase()), limit]),
  );

/** @param {string} text */
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

/** @param {Uint8Array} report */
const base64 = (report) => btoa(String.fromCharCode(...report));

/** @param {string} text */
const bytesOfHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} key */
const hex = (key) => Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("");
