import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { runStudyVectors, STUDY_FILES } from "./study_vectors.js";
import { FILES, runVectors } from "./vectors.js";

for (const name of FILES) {
  test(`golden vectors: ${name}`, () => {
    const file = new URL(`../../vectors/v1/${name}.json`, import.meta.url);
    const { cases, failures } = runVectors({ [name]: JSON.parse(readFileSync(file, "utf8")) });
    assert.ok(cases > 0);
    assert.deepEqual(failures, []);
  });
}

test("golden vectors: studies", async () => {
  const read = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8"));
  const { cases, failures } = await runStudyVectors(STUDY_FILES.map(read));
  assert.ok(cases > 100);
  assert.deepEqual(failures, []);
});
