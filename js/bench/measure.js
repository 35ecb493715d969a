// How fast this module is, in Node or in a page: nothing here needs Node.

const CALLS = 20; // that are timed together

/**
 * Times in milliseconds: of the first parse and the first report, when nothing is compiled yet, and the best time of
 * a report that is made of fresh words, or whose permanent response is derived from the secret of a device.
 * @param {typeof import("../src/index.js")} localdp
 * @param {string} text the plan
 * @param {number} turn how long each of the last two is repeated
 */
export function measure({ Plan, deviceKeys, freshWords, keyedWords }, text, turn) {
  const started = performance.now();
  const plan = Plan.parse(text, { mostEpsilon: 16 });
  const parse = performance.now() - started;
  const index = plan.size - 1;
  const keys = deviceKeys(new Uint8Array(32).fill(7), plan.fingerprint);
  const words = freshWords();

  const derived = () => {
    const response = plan.permanent(index, keyedWords(keys.key(index)));
    return plan.batch(plan.perturbsAgain ? plan.again(response, words) : response);
  };
  const fresh = () => {
    const response = plan.permanent(index, words);
    return plan.batch(plan.perturbsAgain ? plan.again(response, words) : response);
  };

  const before = performance.now();
  derived();
  const first = performance.now() - before;
  return { parse, first, fresh: best(fresh, turn), derived: best(derived, turn) };
}

/**
 * The smallest time of one call.
 * @param {() => unknown} run
 * @param {number} turn
 */
function best(run, turn) {
  let least = Infinity;
  const until = performance.now() + turn;
  do {
    const started = performance.now();
    for (let i = 0; i < CALLS; i++) run();
    least = Math.min(least, (performance.now() - started) / CALLS);
  } while (performance.now() < until);
  return least;
}
