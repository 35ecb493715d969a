// The mechanisms by name, as the plan names them.

import { unaryChain } from "./chains.js";
import { dbit } from "./dbit.js";
import { grr, grrTwice } from "./grr.js";
import { hadamard } from "./hadamard.js";
import { linearHashing, localHashing } from "./hashing.js";
import { subset } from "./subset.js";
import { unary } from "./unary.js";

/** @typedef {(asked: import("./mechanism.js").Asked) => import("./mechanism.js").Mechanism} Make */

/** @type {Map<unknown, Make>} */
export const MECHANISMS = new Map([
  ["grr", grr],
  ["sue", unary(true)],
  ["oue", unary(false)],
  ["ss", subset],
  ["olh", localHashing(false)],
  ["blh", localHashing(true)],
  ["llh", linearHashing],
  ["hr", hadamard],
  ["dbit", dbit],
  ["grr+grr", grrTwice],
  ["sue+sue", unaryChain(true, true)],
  ["oue+oue", unaryChain(false, false)],
  ["oue+sue", unaryChain(false, true)],
  ["sue+oue", unaryChain(true, false)],
]);
