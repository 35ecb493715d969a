// Answers that are numbers: a histogram with intervals, and mean and median in words.

import { bars, responsive } from "./charts.js";
import { h, numbersTable, refill } from "./dom.js";
import { pictureButtons } from "./picture.js";
import { figure, label, percent, summedUp } from "./words.js";

/** The same as `ranking`: an element, and a function that shows estimates in it. */
export function distribution() {
  let found = null;
  const words = h("p", { class: "lead" });
  const picture = h("div", { class: "chart" });
  const table = h("div");
  const truly = h("span", {}, h("span", { class: "key truth" }), "made-up truth");
  const element = h("div", { class: "distribution" }, words, picture, h("p", { class: "legend", "aria-hidden": "true" },
    h("span", { class: "key box" }), "calibrated share", h("span", { class: "key whisker" }), "interval", truly), pictureButtons("Distribution of the answers", () => picture.querySelector("svg")), table);
  const paint = responsive(picture, (width) => {
    if (!found) return h("p", { class: "nothing" }, "Estimating …");
    const { items, std_error_share: unit, truth } = found;
    const names = items.item.map(label);
    const between = (place) => `${percent(items.share_low[place], unit / 10)} to ${percent(items.share_high[place], unit / 10)}`;
    return bars(width, 280, {
      name: `The distribution of the answers. ${words.textContent}`,
      marks: truth && items.item.map((item) => truth[item] ?? 0), values: items.share, low: items.share_low, high: items.share_high, labels: names,
      titles: names.map((name, place) => `${name}: ${percent(items.share[place], unit / 10)}, between ${between(place)}`),
      format: (share) => percent(share, 0.01),
    });
  });

  async function show(estimates, truth = null) {
    found = { ...estimates, truth };
    truly.hidden = !truth;
    const { summary, items, std_error_share: unit, level } = estimates;
    words.textContent = summedUp(summary);
    paint();
    refill(table,
      numbersTable(["answer", "share", "from", "to"], items.item.map((item, place) =>
        [label(item), ...[items.share, items.share_low, items.share_high].map((column) => percent(column[place], unit / 10))]), "Shares of the answers"),
      numbersTable(["figure", "value", "from", "to"], Object.entries(summary).map(([name, { value, low, high }]) =>
        [name, ...[value, low, high].map(figure)]), `Mean and percentiles, with intervals of ${percent(level, 0.01)}`, "Mean and percentiles as a table"));
  }

  return { element, show };
}
