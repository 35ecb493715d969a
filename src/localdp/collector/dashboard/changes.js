// What changed since last week: the largest changes with their intervals, and whether anything changed at all.

import { ask } from "./api.js";
import { responsive } from "./charts.js";
import { card, h, numbersTable, s } from "./dom.js";
import { pictureButtons } from "./picture.js";
import { label, nextDay, percent, several, shortDay } from "./words.js";

const TOP = 8;
const ROW = 30;

const points = (value) => `${value > 0 ? "+" : ""}${percent(value, 0.0005)}`;
const days = ({ from, to }) => (from === to ? shortDay(from) : `${shortDay(from)} to ${shortDay(to)}`);

/** The changes as dots with their intervals, around a line at no change. */
function dots(width, answer) {
  const { item, change, low, high, changed } = answer.items;
  const words = Math.min(width * 0.36, Math.max(...item.map((one) => label(one).length), 4) * 7.4 + 12);
  const most = Math.max(...high, ...low.map((value) => -value), 0.001);
  const numbers = 62;
  const middle = words + (width - words - numbers) / 2;
  const x = (value) => middle + (value / most) * ((width - words - numbers) / 2 - 6);
  const height = item.length * ROW + 8;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Changes of shares from ${days(answer.before)} to ${days(answer.after)}` });
  svg.append(s("line", { class: "axis", x1: middle, x2: middle, y1: 0, y2: height }));
  item.forEach((one, place) => {
    const y = place * ROW + ROW / 2 + 4;
    const seen = changed[place] ? "" : " unsure";
    const room = Math.floor((words - 8) / 7.4);
    const shown = label(one).length > room ? `${label(one).slice(0, Math.max(3, room - 1))}…` : label(one);
    svg.append(s("text", { class: "tick", x: words - 8, y: y + 4, "text-anchor": "end" }, shown, s("title", {}, label(one))));
    svg.append(s("line", { class: `whisker${seen}`, x1: x(low[place]), x2: x(high[place]), y1: y, y2: y }));
    svg.append(s("circle", { class: `point c0${seen}`, cx: x(change[place]), cy: y, r: 5 },
      s("title", {}, `${label(one)}: ${points(change[place])}, between ${points(low[place])} and ${points(high[place])}`)));
    svg.append(s("text", { class: "tick", x: width, y: y + 4, "text-anchor": "end" }, points(change[place])));
  });
  return svg;
}

export function changesCard(path, signal, lost) {
  let answer = null;
  const verdict = h("p", { class: "note", role: "status" }, "Comparing …");
  const picture = h("div", { class: "chart" });
  const table = h("div");
  const element = card("What changed since last week",
    "The last seven days and the seven before, as points of the share among all people. Lines are intervals; a faint dot may be no change at all.",
    verdict, picture, pictureButtons("What changed since last week", () => picture.querySelector("svg")), table);
  element.classList.add("changing");
  element.hidden = true; // until it is known whether there is something to compare
  const paint = responsive(picture, (width) => (answer === null ? h("span") : dots(width, answer)));

  function show() {
    const { items, changed, p_value: p, before, after } = answer;
    const what = changed ? `${several(changed, "item")} changed` : "Something changed, though no single item clearly";
    const found = p < 0.05 ? what : "Nothing changed by more than chance would explain";
    verdict.textContent = `${found}, between ${days(before)} (${several(before.n, "report")}) and ${days(after)} (${several(after.n, "report")}).`;
    paint();
    const kept = table.firstChild?.open;
    table.replaceChildren(numbersTable(["item", "before", "after", "change", "from", "to"], items.item.map((one, place) => [
      label(one), percent(items.before[place], 0.0005), percent(items.after[place], 0.0005),
      points(items.change[place]), points(items.low[place]), points(items.high[place])]), "Changes of shares"));
    if (kept) table.firstChild.open = true;
  }

  async function update(plan) {
    const weeks = [-13, -6].map((first) => [nextDay(plan.last_day, first), nextDay(plan.last_day, first + 6)]);
    const reports = ([first, last]) => plan.days.reduce((sum, one) => sum + (first <= one.day && one.day <= last ? one.reports : 0), 0);
    const enough = weeks.every((week) => reports(week) >= Math.max(plan.minimum, 1));
    element.hidden = !enough; // without two weeks of reports there is nothing to compare
    if (!enough) return;
    const [before, after] = weeks.map((week) => week.join(".."));
    try {
      answer = await ask(`${path}/difference?top=${TOP}&before=${before}&after=${after}`, { signal });
      show();
    } catch (error) {
      if (error.status === 409) element.hidden = true; // thin days are released with others, of other weeks
      else if (error.status === 422) verdict.textContent = error.message;
      else {
        verdict.textContent = "The comparison could not be made.";
        lost(error);
      }
    }
  }

  return { element, update };
}
