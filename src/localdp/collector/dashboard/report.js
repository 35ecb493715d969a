// A report that a manager can read, print, or keep as PDF by the browser.

import { ask, onlySurvey, sentence } from "./api.js";
import { bars, responsive, shareBars } from "./charts.js";
import { card, h, scrolling } from "./dom.js";
import { head, kindTitle, loaded, titleOf } from "./head.js";
import { pictureButtons } from "./picture.js";
import { answersIn, figuresOf, heatMap, waiting } from "./questionnaire.js";
import { shareCard } from "./share.js";
import { between, rowsOf } from "./shares.js";
import { chance, count, label, longDay, percent, several, summedUp, sure, waitingNote } from "./words.js";

const TOP = 25; // answers that a report lists
const WIDTH = 680;

export async function reportPage(root, lost, place, name) {
  const study = await loaded(root, `/v1/studies/${name}`);
  const print = h("button", { type: "button", class: "main", onclick: () => globalThis.print() }, "Print or save as PDF");
  root.append(head(root, place, name, study, "report", print));
  const [reports, suspect] = ["reports", "suspect"].map((name) => study.parts.reduce((sum, part) => sum + part[name], 0));
  const working = h("p", { class: "note loading", role: "status" }, "Estimating … this takes some seconds.");
  root.append(working);
  let parts;
  try {
    parts = await cardsOf(study, root.signal);
  } catch (error) {
    if (error.status !== 409) throw error;
    parts = { n: 0, cards: [card("Nothing to report yet", null, ...(study.kind === "questionnaire" ? waiting(study.parts, Math.max(study.minimum, 1)) : [h("p", {}, error.code === "not-done" ? `Round ${count(study.parts.length)} is under way. The report comes when all rounds are over.` : sentence(error.message))]))] };
  }
  working.remove();
  root.append(h("article", { class: "report" },
    h("header", {}, h("h2", {}, titleOf(study)), study.question ? h("p", { class: "lead" }, study.question) : null,
      h("p", { class: "note" }, `${kindTitle(parts.plan ?? study)}. ${parts.n ? `Estimated from ${several(parts.n, "report")}${parts.n < reports ? ` of ${count(reports)}` : ""}, counted as one of each person. ${waitingNote(reports - suspect - parts.n)}${suspect ? `${several(suspect, "report")} left out because they look forged. ` : ""}` : `${several(reports, "report")} so far. `}${longDay(new Date().toISOString().slice(0, 10))}.`)),
    ...parts.cards,
    card("How to read this", null,
      h("p", {}, "Nobody handed over their answer. Every device changed it at random before it was sent, and the numbers above are estimated from all of these together. That is why each has an interval: the true share lies in it nine times out of ten."),
      parts.searched ? h("p", {}, "The intervals are right for the list as it stands. Somebody who wants to know about one answer, and had it in mind before looking at the list, should search for it on the page of results, which then shows an interval made for that.") : null),
    card("How people are protected", null,
      h("p", {}, `Whoever thought two answers of a person equally likely can, after seeing every report of that answer, be at most ${sure(study.epsilon)} sure of one of them (local differential privacy, epsilon ${study.epsilon}). Answers to other surveys, or a different answer later, add to that. It holds for everybody who sees the reports, the people who run this survey included.`))),
  ...(onlySurvey() ? [] : [shareCard(study)]));
}

/** The results of a survey as cards, and how many reports they come from. */
export const cardsOf = (study, signal) => (study.kind === "plan" ? onePlan(study.fingerprint, signal) : tables(study, signal));

/** One question: a sentence, a picture and a table. */
async function onePlan(name, signal) {
  const plan = await ask(`/v1/plans/${name}`, { signal });
  const listed = plan.kind !== "scale";
  const found = await ask(`/v1/plans/${name}/estimates${listed ? `?top=${Math.min(TOP, plan.size)}` : ""}`, { signal });
  const items = listed ? found.top.items : found.items;
  const rows = rowsOf(items.item.map(label), { share: items.share, low: items.share_low, high: items.share_high });
  const said = listed ? `The most frequent answer is “${rows[0].name}”, with ${rows[0].text} of the people (${between(rows[0])}).`
    : summedUp(found.summary);
  const more = listed && plan.size > TOP ? `The ${TOP} most frequent of ${count(plan.size)} answers.` : null;
  return { plan, n: found.n, searched: listed, cards: [result("Result", said, rows, !listed, more, found.warnings)] };
}

/** Several tables: a card for each that can be drawn. */
async function tables(study, signal) {
  const found = await ask(`/v1/studies/${study.id}/result`, { signal });
  const form = await (await fetch(`/v1/studies/${study.id}/document`, { signal })).json();
  const cards = Object.entries(found.tables).map(([key, { columns }], place) => {
    if (study.kind === "questionnaire" && key.includes(",")) return card(key.split(",").map(label).join(" × "), null, ...heatMap(key.split(","), columns));
    const share = columns.share ?? [];
    const ends = study.kind === "questionnaire" ? columns : { low: columns.low.map((one) => one / Math.max(found.n, 1)), high: columns.high.map((one) => one / Math.max(found.n, 1)) };
    const names = (answersIn(columns, key) ?? columns.item ?? columns.items).map((item, at) => (columns.kind?.[at] === "other" ? "everybody else" : columns.kind?.[at] === "beginning" ? `${item}…` : label(item)));
    const notes = columns.probability?.map((value) => (value === null ? "" : chance(value)));
    const ordered = form.questions?.some((one) => one.name === key && one.question);
    const summary = figuresOf(found, key);
    return result(answersIn(columns, key) ? label(key) : "What was found", summary && summedUp(summary), rowsOf(names, { share, low: ends.low, high: ends.high }, notes).slice(0, TOP), ordered, null, place ? [] : found.notes);
  });
  return { n: found.n, cards };
}

function result(title, said, rows, ordered, more, notes) {
  const picture = h("div", { class: "chart" });
  const draw = (width) => (ordered ? bars(width, 260, { name: title, values: rows.map((row) => row.share), low: rows.map((row) => row.low), high: rows.map((row) => row.high), labels: rows.map((row) => row.name), titles: rows.map((row) => row.title), format: (share) => percent(share, 0.01) })
    : shareBars(width, rows, title));
  responsive(picture, draw);
  return card(title, null, said ? h("p", { class: "lead" }, said) : null,
    picture, pictureButtons(title, () => draw(WIDTH)),
    scrolling(`${title}, a table`, h("table", {}, h("caption", { class: "unseen" }, title),
      h("thead", {}, h("tr", {}, ["answer", "share", "interval"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row.name), h("td", {}, row.text), h("td", {}, between(row)))))), "whole"),
    more ? h("p", { class: "note" }, more) : null, ...notes.map((note) => h("p", { class: "note" }, sentence(note))));
}
