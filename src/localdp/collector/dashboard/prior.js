// The fitted prior against the data.

import { ask, sentence } from "./api.js";
import { bars, responsive } from "./charts.js";
import { card, forStatisticians, h, numbersTable, refill } from "./dom.js";
import { hint } from "./help.js";
import { pictureButtons } from "./picture.js";
import { count, several } from "./words.js";

export const FEW = 30; // answers below which a histogram says little

export function priorCard(path, signal, lost) {
  let answer = null;
  const picture = h("div", { class: "chart" });
  const said = h("div");
  const table = h("div");
  const legend = h("p", { class: "legend", "aria-hidden": "true" }, h("span", { class: "key box" }), "answers", h("span", { class: "key curved" }), "expected");
  const element = card("Does what was learnt fit?",
    ["Bars: how many answers have which raw frequency. Line: what is expected of them. Both should agree.", hint("prior")],
    legend, picture, pictureButtons("Does what was learnt fit", () => picture.querySelector("svg")), said, table);
  const squeezed = (value) => Math.log10(1 + value); // so that single items are seen beside thousands

  const paint = responsive(picture, (width) => (answer === null ? h("span") : bars(width, 220, {
    name: "Answers by raw frequency, and what is expected",
    values: answer.items.map(squeezed),
    curve: answer.expected.map(squeezed),
    labels: answer.items.map((_, place) => count(answer.edges[place])),
    titles: answer.items.map((items, place) => `${several(items, "answer")} from ${count(answer.edges[place])} to ${count(answer.edges[place + 1])} people`),
    top: levels(Math.max(...answer.items, ...answer.expected)).map(squeezed),
    format: (value) => count(10 ** value - 1),
  })));

  /** 0, 1, 10, 100 and so on, up to the first that is large enough. */
  function levels(most) {
    const made = [0, 1];
    while (made.at(-1) < most) made.push(made.at(-1) * 10);
    return made;
  }

  async function update() {
    try {
      answer = await ask(`${path}/prior`, { signal });
    } catch (error) {
      lost(error);
      return;
    }
    paint();
    const beyond = answer.beyond ? `${several(answer.beyond, "answer")} further to the right ${answer.beyond === 1 ? "is" : "are"} not drawn.` : "";
    said.replaceChildren(...(beyond ? [h("p", { class: "note" }, beyond)] : []), forStatisticians(`Fitted prior: ${answer.prior.fitted}. ${answer.prior.why.map(sentence).join(" ")}`));
    refill(table, numbersTable(["from (people)", "to", "answers", "expected"], answer.items.map((items, place) =>
      [count(answer.edges[place]), count(answer.edges[place + 1]), String(items), answer.expected[place].toFixed(1)]), "Answers by raw frequency"));
  }

  return { element, update };
}
