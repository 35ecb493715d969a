// Reports by day, or by week if there are many days.

import { bars, responsive } from "./charts.js";
import { card, h, numbersTable, refill } from "./dom.js";
import { pictureButtons } from "./picture.js";
import { count, nextDay, several, shortDay } from "./words.js";

export function reportsCard() {
  let days = [];
  let before = "";
  const picture = h("div", { class: "chart" });
  const table = h("div");
  const element = card("Reports over time", null, picture, pictureButtons("Reports over time", () => picture.querySelector("svg")), table);
  const paint = responsive(picture, (width) => (days.length ? bars(width, 200, {
    name: `Reports by ${days[0].weekly ? "week" : "day"}, ${several(days.reduce((sum, one) => sum + one.reports, 0), "report")} in all`,
    values: days.map((one) => one.reports),
    labels: days.map((one) => shortDay(one.day)),
    titles: days.map((one) => `${shortDay(one.day)}: ${several(one.reports, "report")}`),
    format: count,
  }) : h("p", { class: "nothing" }, "No reports yet.")));
  function show(given) {
    const now = JSON.stringify(given);
    if (now === before) return;
    before = now;
    days = given.length > 90 ? weekly(given) : everyDay(given);
    paint();
    refill(table, numbersTable(["day", "reports", "look forged"], days.map((one) => [shortDay(one.day), count(one.reports), count(one.suspect)]), "Reports by day"));
    table.hidden = !days.length;
  }
  return { element, show };
}

/** Days without reports are there too, so that gaps are seen. */
function everyDay(given) {
  const made = [];
  for (const one of given) {
    while (made.length && made.at(-1).day < nextDay(one.day, -1) && made.length < 400) made.push({ day: nextDay(made.at(-1).day), reports: 0, suspect: 0 });
    made.push(one);
  }
  return made;
}

function weekly(given) {
  const made = new Map();
  for (const one of given) {
    const monday = nextDay(one.day, -((new Date(`${one.day}T00:00:00Z`).getUTCDay() + 6) % 7));
    const week = made.get(monday) ?? { day: monday, reports: 0, suspect: 0, weekly: true };
    week.reports += one.reports;
    week.suspect += one.suspect;
    made.set(monday, week);
  }
  return [...made.values()];
}
