// The survey that the page plays with: its people, its plans, and real reports from the JavaScript client.

import { Plan, freshWords } from "./localdp.js";
import { PLANS } from "./plans.js";

/** What people really do, in percent. Nobody comes by boat. */
export const TRUTH = { Train: 37, Bicycle: 24, Car: 19, Bus: 12, "On foot": 8, Boat: 0 };
export const ANSWERS = Object.keys(TRUTH);
export const PEOPLE = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/** One plan for each stop of the slider, with the chance of a report to name its sender's answer, and any other one. */
export const SURVEYS = PLANS.map((text) => {
  const plan = Plan.parse(text, { mostEpsilon: 8 });
  const truth = Number(JSON.parse(text).parameters.truth) / 2 ** 64;
  const q = (1 - truth) / ANSWERS.length;
  return { plan, p: truth + q, q };
});

/** How many reports name each answer, if so many people are asked under this plan. */
export function ask({ plan }, people) {
  const counts = ANSWERS.map(() => 0);
  const words = freshWords();
  ANSWERS.forEach((answer, index) => {
    for (let i = 0; i < (people * TRUTH[answer]) / 100; i++) counts[plan.permanent(index, words)[0]] += 1;
  });
  return counts;
}

/** One person's report: a single byte, the number of the answer that it names. */
export const report = ({ plan }, answer) => plan.permanent(plan.index(answer), freshWords());
