// How the most frequent answers moved, by day or by week.

import { ask } from "./api.js";
import { lines, responsive } from "./charts.js";
import { card, h, numbersTable, refill } from "./dom.js";
import { pictureButtons } from "./picture.js";
import { label, nextDay, percent, shortDay } from "./words.js";

const TOP = 6;
const DAYS = { day: 60, week: 52 * 7 }; // every period has to be estimated, so the newest ones are shown

export function historyCard(path, signal, lost) {
  let by = "day";
  let days = null; // the first and the last one with reports
  let answer = null;
  let emphasised = 0;
  const picture = h("div", { class: "chart" });
  const legend = h("ul", { class: "series" });
  const table = h("div");
  const note = h("p", { class: "note", role: "status" }, "Estimating all periods …");
  const choice = h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, "Period"),
    ["day", "week"].map((name) => h("label", {},
      h("input", { type: "radio", name: "period", value: name, checked: name === by, onchange: () => { by = name; update(); } }),
      h("span", {}, name === "day" ? "By day" : "By week"))));
  const element = card("How the top answers moved",
    "All periods are estimated together, so a line moves where the reports do. The band is the interval of the answer that is chosen below. Weeks begin on Monday.", choice, picture, legend, note, pictureButtons("How the top answers moved", () => picture.querySelector("svg")), table);

  const name = (period) => (answer.by === "day" ? shortDay(period) : period.replace("-", " "));
  const paint = responsive(picture, (width) => (answer === null ? h("span") : lines(width, 260, {
    name: `Shares of ${answer.series.map((one) => label(one.item)).join(", ")} by ${answer.by}`,
    series: answer.series.map((one) => ({ middle: one.share, low: one.share_low, high: one.share_high })),
    labels: answer.periods.period.map(name),
    format: (value) => percent(value, 0.005),
    emphasised,
    point: readOut,
  })));

  function readOut(place) {
    const periods = answer.periods.period;
    const at = place ?? answer.periods.status.lastIndexOf("estimated");
    answer.series.forEach((one, number) => {
      const value = one.share[at];
      legend.children[number].querySelector(".value").textContent = value === null || value === undefined ? "–" : percent(value, 0.001);
    });
    note.textContent = place === null ? `The figures are those of the last ${answer.by}, ${name(periods[at])}.` : name(periods[place]);
  }

  function show() {
    const { periods, series } = answer;
    emphasised = Math.min(emphasised, series.length - 1);
    legend.replaceChildren(...series.map((one, number) => h("li", {}, h("button", {
      type: "button", class: `series-button c${number}`, "aria-pressed": String(number === emphasised),
      onclick: () => { emphasised = number; show(); legend.children[number].querySelector("button").focus(); },
    }, h("span", { class: "swatch", "aria-hidden": "true" }), h("span", { class: "item" }, label(one.item)), h("span", { class: "value" })))));
    paint();
    readOut(null);
    refill(table, numbersTable([answer.by, "reports", ...series.map((one) => label(one.item))],
      periods.period.map((period, place) => [name(period), String(periods.n[place]), ...series.map((one) =>
        one.share[place] === null ? periods.status[place] : percent(one.share[place], 0.001))]), "Shares by period"));
    const withheld = periods.status.filter((status) => status === "withheld").length;
    if (withheld) note.textContent += ` ${withheld} ${withheld === 1 ? "period has" : "periods have"} too few reports to be shown.`;
  }

  async function update(plan) {
    if (plan) days = [plan.first_day, plan.last_day];
    const newest = nextDay(days[1], 1 - DAYS[by]);
    const from = newest > days[0] ? `&from=${newest}` : "";
    try {
      answer = await ask(`${path}/history?by=${by}&top=${TOP}${from}`, { signal });
      show();
    } catch (error) {
      note.textContent = error.message; // nothing is under way any more
      if (error.status !== 422 && error.status !== 409) lost(error);
    }
  }

  return { element, update };
}
