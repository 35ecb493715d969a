// What the pages of a plan need to know about the kind of its question.

import { distribution } from "./distribution.js";
import { ranking } from "./ranking.js";

/**
 * `lists` says whether it has items of its own. `picture(signal)` shows estimates; `named` says whether single items
 * are looked for: then popular items and the spread of the shares make sense. `example` is an answer for the snippets,
 * or an item of one, given the document of the plan; `people` is Python that makes up 2,000 answers.
 */
const choice = {
  lists: true, picture: ranking, named: true,
  example: (document) => (document.domain.items ? document.domain.items[0] : 0),
  people: "random.choices(plan.domain.items, weights=range(plan.domain.size, 0, -1), k=2_000)  # the first item is the most popular",
};

const KINDS = {
  choice,
  choices: { ...choice, people: `[[one] for one in ${choice.people.replace("  #", "]  #")}` },
  scale: {
    lists: false, picture: distribution, named: false,
    example: ({ question: { low, high } }) => Math.round((low + high) / 2),
    people: "[random.triangular(plan.question.low, plan.question.high) for _ in range(2_000)]",
  },
};

/** The answers to a question of a form: what is typed for each, and how it is called. */
export function cellsOf({ question, domain }) {
  if (!question) return (domain.items ?? Array.from({ length: domain.size }, (_, place) => place)).map((item) => [item, String(item)]);
  const { low, high, step } = question;
  const whole = step === 1 && Number.isInteger(low);
  const at = (place) => Number((low + place * step).toFixed(6));
  return Array.from({ length: Math.round((high - low) / step) + Number(whole) }, (_, place) => [at(place), whole ? String(at(place)) : `${at(place)} to ${at(place + 1)}`]);
}

/** What is known of the kind of a plan; kinds from elsewhere are shown as lists of cells. */
export const kindOf = (plan) => KINDS[plan.kind] ?? { ...choice, example: () => "an answer", people: "[]  # write 2,000 answers here" };
