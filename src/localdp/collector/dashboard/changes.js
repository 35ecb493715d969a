// What changed between two periods: the largest changes with their intervals, and whether anything changed at all.

import { ask } from "./api.js";
import { named, responsive } from "./charts.js";
import { card, h, numbersTable, refill, s } from "./dom.js";
import { pictureButtons } from "./picture.js";
import { label, nextDay, percent, several, shortDay } from "./words.js";

const TOP = 8;

const points = (value) => `${value > 0 ? "+" : ""}${percent(value, 0.0005)}`;
const between = (low, high) => `between ${points(low)} and ${points(high)}`;
const days = ({ from, to }) => (from === to ? shortDay(from) : `${shortDay(from)} to ${shortDay(to)}`);

/** The changes as dots with their intervals, around a line at no change; small marks are the raw ones. */
function dots(width, { items: { item, change, low, high, changed }, raw, before, after }) {
  const narrow = width < 480; // then a name has a line of its own
  const row = narrow ? 46 : 30;
  const words = narrow ? 0 : Math.min(width * 0.36, Math.max(...item.map((one) => label(one).length), 4) * 7.4 + 12);
  const most = Math.max(...high, ...low.map((value) => -value), ...(raw?.change ?? []).map(Math.abs), 0.001);
  const numbers = 62;
  const middle = words + (width - words - numbers) / 2;
  const x = (value) => middle + (value / most) * ((width - words - numbers) / 2 - 6);
  const height = item.length * row + 8;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Changes of shares from ${days(before)} to ${days(after)}` });
  svg.append(s("line", { class: "axis", x1: middle, x2: middle, y1: 0, y2: height }));
  item.forEach((one, place) => {
    const y = place * row + row / 2 + (narrow ? 12 : 4);
    const seen = changed[place] ? "" : " unsure";
    svg.append(named(label(one), narrow ? { x: 0, y: y - 14, width } : { x: words - 8, y: y + 4, "text-anchor": "end", width: words - 8 }));
    svg.append(s("line", { class: `whisker${seen}`, x1: x(low[place]), x2: x(high[place]), y1: y, y2: y }));
    svg.append(s("circle", { class: `point c0${seen}`, cx: x(change[place]), cy: y, r: 5 },
      s("title", {}, `${label(one)}: ${points(change[place])}, ${between(low[place], high[place])}`)));
    if (raw) svg.append(s("rect", { class: "point c1", x: x(raw.change[place]) - 1.5, y: y - 7, width: 3, height: 14 },
      s("title", {}, `${label(one)}, raw: ${points(raw.change[place])}, ${between(raw.low[place], raw.high[place])}`)));
    svg.append(s("text", { class: "tick", x: width, y: y + 4, "text-anchor": "end" }, points(change[place])));
  });
  return svg;
}

export function changesCard(path, signal, lost) {
  let answer = null;
  let plan = null;
  const verdict = h("p", { class: "note", role: "status" }, "Comparing …");
  const picture = h("div", { class: "chart" });
  const table = h("div");
  const day = (name) => h("input", { type: "date", "aria-label": name });
  const chosen = ["First period, from", "First period, to", "Second period, from", "Second period, to"].map(day);
  const choice = h("details", { class: "days" }, h("summary", {}, "Compare other days"), h("div", { class: "tools", onchange: () => compare() },
    h("span", {}, "From "), chosen[0], h("span", {}, "to "), chosen[1]), h("div", { class: "tools", onchange: () => compare() }, h("span", {}, "and from "), chosen[2], h("span", {}, "to "), chosen[3]));
  const element = card("What changed",
    "The last seven days and the seven before, unless you choose others, as points of the share among all people. Dots are the changes to quote, lines their intervals; a faint dot may be no change at all. Small changes are shrunk: among many answers some seem to move by chance alone. The narrow mark is the raw difference, before that.",
    verdict, choice, picture, pictureButtons("What changed", () => picture.querySelector("svg")), table);
  element.classList.add("changing");
  element.hidden = true; // until it is known whether there is something to compare
  const paint = responsive(picture, (width) => (answer === null ? h("span") : dots(width, answer)));

  function show() {
    const { items, raw, changed, p_value: p, before, after } = answer;
    const found = p >= 0.05 ? "No change is clear yet" : changed ? `${several(changed, "answer")} changed` : "Something changed, though no single answer clearly";
    const most = raw ? raw.change.reduce((best, one, place) => (Math.abs(one) > Math.abs(raw.change[best]) ? place : best), 0) : null;
    verdict.textContent = `${found}, between ${days(before)} (${several(before.n, "report")}) and ${days(after)} (${several(after.n, "report")}).${
      raw ? ` The largest raw difference of these is that of “${label(items.item[most])}”: ${points(raw.change[most])} (${between(raw.low[most], raw.high[most])}).` : ""}`;
    paint();
    refill(table, numbersTable(["answer", "before", "after", "change", "from", "to", ...(raw ? ["raw", "from", "to"] : [])], items.item.map((one, place) => [
      label(one), percent(items.before[place], 0.0005), percent(items.after[place], 0.0005),
      ...[items.change, items.low, items.high, ...(raw ? [raw.change, raw.low, raw.high] : [])].map((column) => points(column[place]))]), "Changes of shares"));
  }

  /** Compare the days that were chosen, or the last two weeks. */
  async function compare() {
    const own = chosen.some((input) => input.value);
    if (own && !chosen.every((input) => input.value)) return;
    const weeks = own ? [chosen.slice(0, 2), chosen.slice(2)].map((pair) => pair.map((input) => input.value)) : [-13, -6].map((first) => [nextDay(plan.last_day, first), nextDay(plan.last_day, first + 6)]);
    const reports = ([first, last]) => plan.days.reduce((sum, one) => sum + (first <= one.day && one.day <= last ? one.reports : 0), 0);
    if (!own && !weeks.every((week) => reports(week) >= Math.max(plan.minimum, 1))) {
      verdict.textContent = "The last two weeks have too few reports to be compared. Other days can be.";
      return;
    }
    const [before, after] = weeks.map((week) => week.join(".."));
    try {
      answer = await ask(`${path}/difference?top=${TOP}&before=${before}&after=${after}`, { signal });
      show();
    } catch (error) {
      verdict.textContent = error.status === 409 || error.status === 422 ? error.message : "The comparison could not be made.";
      if (error.status !== 409 && error.status !== 422) lost(error);
    }
  }

  async function update(given) {
    plan = given;
    for (const input of chosen) [input.min, input.max] = [plan.first_day, plan.last_day];
    const least = Math.max(plan.minimum, 1);
    element.hidden = plan.days.filter((one) => one.reports >= least).length < 2; // two periods of enough reports are needed
    if (!element.hidden) await compare();
  }

  return { element, update };
}
