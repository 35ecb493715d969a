// The mechanisms by name, as the plan names them.

import { unaryChain } from "./chains.js";
import { dbit } from "./dbit.js";
import { grr, grrTwice } from "./grr.js";
import { hadamard } from "./hadamard.js";
import { linearHashing, localHashing, subsetHashing } from "./hashing.js";
import { privset } from "./privset.js";
import { sampled } from "./set_sampling.js";
import { hadamardSketch, sketch } from "./sketches.js";
import { subset } from "./subset.js";
import { unary } from "./unary.js";
import { wave } from "./wave.js";

/**
 * @template [Held=number]
 * @typedef {(asked: import("./mechanism.js").Asked) => import("./mechanism.js").Mechanism<Held>} Make
 */

/** @type {[unknown, Make][]} */
const OF_ONE_ELEMENT = [
  ["grr", grr],
  ["sue", unary(true)],
  ["oue", unary(false)],
  ["ss", subset],
  ["olh", localHashing(false)],
  ["blh", localHashing(true)],
  ["llh", linearHashing],
  ["slh", subsetHashing],
  ["hr", hadamard],
];

/**
 * For users who hold one item each.
 * @type {Map<unknown, Make>}
 */
export const MECHANISMS = new Map([
  ...OF_ONE_ELEMENT,
  ["dbit", dbit],
  ["cms", sketch],
  ["hcms", hadamardSketch],
  ["wave", wave],
  ["grr+grr", grrTwice],
  ["sue+sue", unaryChain(true, true)],
  ["oue+oue", unaryChain(false, false)],
  ["oue+sue", unaryChain(false, true)],
  ["sue+oue", unaryChain(true, false)],
]);

/**
 * For users who hold sets of items.
 * @type {Map<unknown, Make<number[]>>}
 */
export const SET_MECHANISMS = new Map([
  ...OF_ONE_ELEMENT.map(([name, make]) => /** @type {[unknown, Make<number[]>]} */ ([name, sampled(make)])),
  ["privset", privset],
]);
