// Reads batches, as a collector does, so that the golden vectors of malformed ones hold here too. A device only
// writes them.

import { bitLength, field } from "../src/bitstrings.js";
import { countKeys, isObject } from "../src/canonical_json.js";
import { WireError } from "../src/errors.js";
import { fromHex } from "../src/hex.js";

const HEADER_BYTES = 24;
const MAGIC = new TextEncoder().encode("LDP1");

/**
 * The reports of a batch, in bytes or in JSON. Anything that is not a batch of this plan's reports is a `WireError`.
 * @param {import("../src/plan.js").Plan} plan
 * @param {string} text the JSON of the plan
 * @param {Uint8Array | string} batch
 */
export function readBatch(plan, text, batch) {
  const reports = typeof batch === "string" ? unpackJSON(plan, batch) : unpack(plan, batch);
  for (const report of reports) {
    plan.check(report);
    checkContent(report, plan, JSON.parse(text));
  }
  return reports;
}

/**
 * Refuse a report with bits that no client makes.
 * @param {Uint8Array} report
 * @param {import("../src/plan.js").Plan} plan
 * @param {any} document the plan
 */
function checkContent(report, { mechanism, size }, { parameters, answers }) {
  const itemBits = bitLength(size - 1);
  const range = (/** @type {number} */ number, /** @type {number} */ count) => {
    if (number >= count) throw new WireError("symbol-out-of-range", `${number} is not below ${count}`);
  };
  if (mechanism === "ss" || mechanism === "privset") {
    const weight = report.reduce((sum, byte) => sum + byte.toString(2).replaceAll("0", "").length, 0);
    if (weight !== parameters.subset) throw new WireError("wrong-weight", `a report holds ${weight} items`);
  } else if (mechanism === "olh" || mechanism === "blh") {
    range(field(report, 32, bitLength(parameters.symbols - 1)), parameters.symbols);
  } else if ((mechanism === "llh" || mechanism === "slh") && !field(report, 0, parameters.degree)) {
    throw new WireError("symbol-out-of-range", "a report has the multiplier 0");
  } else if (mechanism === "cms" || mechanism === "hcms") {
    const { functions, cell_bits: cells } = parameters;
    range(field(report, mechanism === "cms" ? 2 ** cells : 0, Math.max(1, bitLength(functions - 1))), functions);
  } else if (mechanism === "dbit") {
    const items = Array.from({ length: answers }, (_, i) => field(report, i * (itemBits + 1), itemBits));
    for (const item of items) range(item, size);
    if (items.some((item, i) => i && item <= items[i - 1]))
      throw new WireError("wrong-order", "items are not ascending");
  }
}

/**
 * @param {import("../src/plan.js").Plan} plan
 * @param {Uint8Array} batch
 */
function unpack({ fingerprint, reportBytes }, batch) {
  if (MAGIC.some((byte, i) => i < batch.length && byte !== batch[i])) {
    throw new WireError("bad-magic", "this is not a batch of reports: it does not start with LDP1");
  }
  if (batch.length < HEADER_BYTES) throw new WireError("truncated", "the batch ends inside its header");
  const plan = fromHex(fingerprint);
  if (batch.subarray(4, 20).some((byte, i) => byte !== plan[i])) throw unknownPlan();
  const count = new DataView(batch.buffer, batch.byteOffset).getUint32(20, true);
  if (!count) throw emptyBatch();
  const more = batch.length - HEADER_BYTES - count * reportBytes;
  if (more < 0) throw new WireError("truncated", "the batch ends inside its reports");
  if (more > 0) throw new WireError("trailing-bytes", `the batch goes on ${more} bytes after the last report`);
  return Array.from({ length: count }, (_, i) => {
    const start = HEADER_BYTES + i * reportBytes;
    return batch.slice(start, start + reportBytes);
  });
}

/**
 * @param {import("../src/plan.js").Plan} plan
 * @param {string} text
 */
function unpackJSON({ fingerprint }, text) {
  let batch;
  try {
    batch = JSON.parse(text);
    if (countKeys(text) > Object.keys(batch).length) batch = undefined;
  } catch {
    // What is wrong with it is said below.
  }
  if (!isObject(batch) || Object.keys(batch).sort().join() !== "plan,reports" || !Array.isArray(batch.reports)) {
    throw new WireError("bad-json", 'a batch in JSON is {"plan": "<fingerprint>", "reports": ["<base64>", ...]}');
  }
  if (batch.plan !== fingerprint) throw unknownPlan();
  if (!batch.reports.length) throw emptyBatch();
  return batch.reports.map((report) => {
    const bytes = fromBase64(report);
    if (!bytes) throw new WireError("bad-base64", "a report is not canonical base64");
    return bytes;
  });
}

const unknownPlan = () => new WireError("unknown-plan", "the batch was made under another plan");
const emptyBatch = () => new WireError("empty-batch", "the batch holds no reports");

/**
 * The bytes behind canonical base64; undefined for anything else.
 * @param {unknown} text
 */
function fromBase64(text) {
  try {
    const characters = atob(/** @type {string} */ (text));
    return btoa(characters) === text ? Uint8Array.from(characters, (one) => one.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}
