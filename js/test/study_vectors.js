// The golden vectors of devices in studies, run by this module or by a built one. Nothing here needs Node.

import { written } from "../src/client/record.js";
import * as source from "../src/index.js";
import { readStudy } from "../src/studies/study.js";

const hex = (/** @type {Uint8Array} */ bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (/** @type {string} */ text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const base64 = (/** @type {Uint8Array} */ bytes) => btoa(String.fromCharCode(...bytes));

/** A device with this record. */
function device(record) {
  const records = new Map([["device", record]]);
  const change = async (name, update) => {
    const after = update(records.get(name));
    if (after) records.set(name, after);
  };
  return { records, change };
}

/** The files of vectors of studies, below `vectors/`. */
export const STUDY_FILES = ["v1/studies", "v1/questionnaires", "studies/discoveries"];

/**
 * @param {any[]} vectors the content of `STUDY_FILES`
 * @param {typeof source} localdp
 */
export async function runStudyVectors([{ parts, bad }, questionnaires, discoveries], localdp = source) {
  const failures = [];
  let cases = 0;
  const compare = (what, found, expected) => {
    cases++;
    if (found !== expected) failures.push(`${what}: ${found} instead of ${expected}`);
  };
  for (const [p, { study, part, answers }] of parts.entries()) {
    for (const [i, { record, value, place, batch, upload_id, after }] of answers.entries()) {
      const store = device(fromHex(record));
      const sent = [];
      const upload = (body, id) => void sent.push([base64(body), id]);
      const client = new localdp.Client(study, { store, upload });
      const { asked } = await client.send(value, part ?? undefined);
      await client.send(value, part ?? undefined);
      compare(`part ${p}, device ${i}, place`, await client.place(), place);
      compare(`part ${p}, device ${i}, asked`, asked, batch !== null);
      compare(`part ${p}, device ${i}, sent`, `${sent}`, batch ? `${batch},${upload_id}` : "");
      compare(`part ${p}, device ${i}, record`, hex(store.records.get("device")), after);
    }
  }
  for (const { what, study, part, code } of bad) {
    const found = await (async () => new localdp.Client(study, { store: localdp.memoryStore() }).report(null, part))().then(
      () => "no error",
      (error) => error.code ?? String(error),
    );
    compare(what, found, code);
  }
  const forms = new Map(questionnaires.good.map(({ fingerprint, form }) => [fingerprint, form]));
  for (const [i, { secret, form, answers, place, batch, upload_id }] of questionnaires.answers.entries()) {
    const store = device(written({ _generation: 1n, _secret: fromHex(secret), _paid: new Map() }));
    const sent = [];
    const client = new localdp.Client(forms.get(form), { store, upload: (body, id) => void sent.push([base64(body), id]) });
    await client.sendOnce(answers);
    compare(`questionnaire ${i}, place`, await client.place(), place);
    compare(`questionnaire ${i}, sent`, `${sent}`, `${batch},${upload_id}`);
  }
  for (const form of questionnaires.bad) {
    const found = (() => {
      try {
        return new localdp.Client(form, { store: localdp.memoryStore(), mostEpsilon: 16 }) && "no error";
      } catch (error) {
        return error instanceof localdp.LocalDPError;
      }
    })();
    compare(form, found, true);
  }
  for (const { form, values, rounds } of discoveries) {
    const { kind, code } = JSON.parse(form).values;
    if (code) continue; // the first code is not in its document, and such a discovery is refused
    const study = readStudy(form, {});
    for (const { document, cells } of rounds) {
      const held = kind === "keys" ? values.map((value) => value && BigInt(value)) : values;
      compare(document, `${held.map(study.part(document)._read)}`, `${cells}`);
    }
  }
  return { cases, failures };
}
