import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FILES, runVectors } from "./vectors.js";

for (const name of FILES) {
  test(`golden vectors: ${name}`, () => {
    const file = new URL(`../../vectors/v1/${name}.json`, import.meta.url);
    const { cases, failures } = runVectors({ [name]: JSON.parse(readFileSync(file, "utf8")) });
    assert.ok(cases > 0);
    assert.deepEqual(failures, []);
  });
}
