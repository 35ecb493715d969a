// How fast a client is, in Node or in a page: nothing here needs Node.

import { Client, memoryStore, Plan } from "../src/index.js";

const LEAST = 10; // milliseconds that are timed together, because the clocks of browsers are coarse

/**
 * The best times, in milliseconds, of a report by a new device (keys, payment and permanent response) and of one more
 * report of a known value.
 * @param {string} text the plan
 * @param {number} turn how long each of them is repeated
 */
export async function times(text, turn) {
  const plan = Plan.parse(text);
  const known = device(plan);
  return {
    fresh: await best(() => device(plan).report(last(plan)), turn),
    again: await best(() => known.report(last(plan)), turn),
  };
}

/** @param {Plan} plan */
export const device = (plan) => new Client(plan, { store: memoryStore() });

/** @param {Plan} plan */
export const last = (plan) => (plan.items ? plan.items[plan.size - 1] : plan.size - 1);

/**
 * The smallest time of one call.
 * @param {() => Promise<unknown>} run
 * @param {number} turn
 */
async function best(run, turn) {
  let least = Infinity;
  const until = performance.now() + turn;
  do {
    const started = performance.now();
    let calls = 0;
    do {
      await run();
      calls++;
    } while (performance.now() - started < LEAST);
    least = Math.min(least, (performance.now() - started) / calls);
  } while (performance.now() < until);
  return least;
}
