// The results of several questions: a tab for every question and for every pair that is asked together.

import { ask, save, sentence } from "./api.js";
import { bars, shareBars } from "./charts.js";
import { forStatisticians, freshId, h, numbersTable, scrolling } from "./dom.js";
import { follow, head, loaded, showTiles, tile } from "./head.js";
import { cellsOf } from "./kinds.js";
import { pictureButtons } from "./picture.js";
import { between, rowsOf, shareList } from "./shares.js";
import { truthOf } from "./trying.js";
import { count, label, percent, several, summedUp, waitingNote } from "./words.js";

const PAUSE = 10_000; // milliseconds between two looks at the number of reports
const SOON = 2_000; // the same in a trial, which one person watches
const SUMMED = " summary"; // how the collector calls the figures of a question, among people with one answer

export async function questionnairePage(root, lost, place, name) {
  const path = `/v1/studies/${name}`;
  const { signal } = root;
  const study = await loaded(root, path);
  const form = await (await fetch(`${path}/document`, { signal })).json();
  const tiles = h("dl", { class: "tiles" });
  const tabs = h("div", { class: "tabs scrolling", role: "tablist", "aria-label": "Questions", hidden: true });
  const panel = h("div", { role: "tabpanel", tabindex: 0, class: "question-panel" }, h("p", { class: "nothing", role: "status" }, "Estimating …"));
  const notes = h("div", { class: "sentences" });
  const whose = choices();
  const answers = h("section", { class: "card wide", "aria-label": "Answers" }, whose.element, tabs, panel, notes);
  const download = h("button", { type: "button", onclick: () => save(`${path}/result?${whose.query("format=csv", `table=${encodeURIComponent(chosen)}`)}`, `${study.short}-${chosen.replace(",", "-")}.csv`).catch(lost) }, "Download CSV");
  root.replaceChildren(head(root, place, name, study, "", download), tiles, answers);

  let chosen = null;
  let shown = -1;
  let parts = study.parts;

  /** Whose answers: those of everybody, with one label, or of the people who gave one answer to another question. */
  function choices() {
    const segment = h("select", { "aria-label": "Whose answers" }, h("option", { value: "" }, "everybody"), study.segments.map((one) => h("option", { value: one }, one)));
    const crossed = new Set(form.parts.filter((part) => part.asks.length > 1).flatMap((part) => part.asks));
    const given = h("select", { "aria-label": "Who answered" }, h("option", { value: "" }, "anything"), form.questions.filter((one) => crossed.has(one.name)).map((one) =>
      h("optgroup", { label: label(one.name) }, cellsOf(one).map(([value, text]) => h("option", { value: `${one.name}:${value}` }, `${label(one.name)}: ${label(text)}`)))));
    const element = h("div", { class: "tools", hidden: true }, study.segments.length ? h("label", { class: "inline" }, "Answers of ", segment) : null, crossed.size ? h("label", { class: "inline" }, "who answered ", given) : null);
    element.addEventListener("change", () => { chosen = null; notes.replaceChildren(h("p", { class: "note", role: "status" }, "Estimating … the numbers above are those of before.")); estimates().catch(lost); });
    return { element, segment, given, query: (...more) => [...more, ...(segment.value ? [`segment=${encodeURIComponent(segment.value)}`] : []), ...(given.value ? [`given=${encodeURIComponent(given.value)}`] : [])].join("&") };
  }

  function figures() {
    const reports = parts.reduce((sum, part) => sum + part.reports, 0);
    showTiles(tiles,
      tile("People", count(reports), "one report each", "report"),
      tile("Questions", count(form.questions.length), `asked in ${several(parts.length, "part")}`),
      tile("Privacy", `ε ${Number(study.epsilon.toFixed(3))}`, "spent once, by everybody", "epsilon"));
    return reports;
  }

  function show(result, key) {
    chosen = key;
    for (const tab of tabs.children) {
      const here = tab.dataset.key === key;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
      if (here) panel.setAttribute("aria-labelledby", tab.id);
    }
    const { columns } = result.tables[key];
    const truth = study.trial_of && !whose.given.value && !whose.segment.value ? truthOf(study)?.[key] : null;
    panel.replaceChildren(...(key.includes(",") ? heatMap(key.split(","), columns) : answersOf(key, columns, form, figuresOf(result, key), truth)));
  }

  let latest = 0;
  async function estimates() {
    const turn = (latest += 1);
    const least = Math.max(study.minimum, 1);
    const enough = parts.some((part) => part.reports - part.suspect >= least);
    let few = "";
    const result = !enough ? null : await ask(`${path}/result?${whose.query()}`, { signal }).catch((error) => {
      if (error.code !== "too-few-reports") throw error;
      few = error.message; // reports of thin days wait for others
      return null;
    });
    if (turn !== latest) return; // other people were chosen meanwhile
    download.disabled = tabs.hidden = !result;
    whose.element.hidden = !enough;
    if (!result) {
      tabs.replaceChildren();
      notes.replaceChildren();
      panel.replaceChildren(...waiting(parts, least, few));
      return;
    }
    const keys = Object.keys(result.tables).filter((key) => !(key.endsWith(SUMMED) && result.tables[key].columns.value));
    tabs.replaceChildren(...keys.map((key) => h("button", { type: "button", role: "tab", id: freshId("tab"), "data-key": key, onclick: () => show(result, key), onkeydown: (event) => move(event, result, keys) }, key.split(",").map(label).join(" × "))));
    const reports = parts.reduce((sum, part) => sum + part.reports - part.suspect, 0);
    notes.replaceChildren(h("p", { class: "note" }, `Estimated from ${several(result.n, "report")}. ${whose.segment.value ? "" : waitingNote(reports - result.n)}Intervals hold the true share 9 times out of 10.`),
      forStatisticians(...result.notes.map(sentence)));
    show(result, keys.includes(chosen) ? chosen : keys[0]);
  }

  function move(event, result, keys) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    show(result, keys[(keys.indexOf(chosen) + step + keys.length) % keys.length]);
    tabs.querySelector('[aria-selected="true"]').focus();
  }

  async function look() {
    const reports = figures();
    if (reports === shown) return;
    await estimates();
    shown = reports;
  }
  await look();
  follow(root, lost, study.trial_of ? SOON : PAUSE, async () => {
    ({ parts } = await ask(path, { signal }));
    await look();
  });
}

/** How far each part is, and about how many people are missing. */
export function waiting(parts, least, why = "") {
  const missing = Math.max(...parts.map((part) => (least - part.reports + part.suspect) / (part.share || 1)), 0);
  return [h("p", { class: "nothing" }, `Waiting for reports: a part is shown from ${several(least, "report")} on.${missing > 0 ? ` About ${count(Number(missing.toPrecision(2)))} more people have to answer until all parts are.` : ""} ${why}`),
    h("ul", { class: "rounds" }, parts.map((part) => {
      const bar = h("span", { class: "fill" });
      bar.style.width = `${Math.min(1, part.reports / least) * 100}%`;
      return h("li", {}, h("b", {}, part.key.split(",").map(label).join(" × ")), h("span", { class: "rail", "aria-hidden": "true" }, bar), h("span", { class: "note" }, `${count(part.reports)} of ${count(least)}`));
    }))];
}

/** The mean and the median of a question, of everybody or of the people with one answer; null if it has none. */
export function figuresOf(result, key) {
  const table = result.tables[`${key}${SUMMED}`]?.columns;
  return table?.of ? Object.fromEntries(table.of.map((name, place) => [name, { value: table.value[place], low: table.low[place], high: table.high[place] }])) : result.summaries?.[key] ?? null;
}

/** The column with the answers to a question, which is called otherwise if there is a column of numbers with its name. */
export const answersIn = (columns, name) => columns[`${name} (answer)`] ?? columns[name];

/** The answers to one question, with bars and intervals; numbers stand beside each other in the picture. */
function answersOf(name, columns, form, summary, truth) {
  const answers = answersIn(columns, name);
  const rows = rowsOf(answers.map(label), columns).map((row, place) => ({ ...row, truth: truth ? truth[answers[place]] ?? 0 : undefined }));
  const ordered = form.questions.some((one) => one.name === name && one.question);
  const drawn = () => (ordered ? bars(760, 280, { name, values: columns.share, low: columns.low, high: columns.high, labels: rows.map((row) => row.name), titles: rows.map((row) => row.title), format: (share) => percent(share, 0.01) }) : shareBars(760, rows, name));
  return [summary ? h("p", { class: "lead" }, summedUp(summary)) : "", shareList(rows), truth ? h("p", { class: "legend" }, h("span", { class: "key truth" }), "what the made-up people answered") : "", pictureButtons(name, drawn)];
}

/** The table of two questions: a cell is the darker the more people it has. */
export function heatMap([first, second], columns) {
  const [down, across] = [first, second].map((name) => answersIn(columns, name));
  const rows = [...new Set(down)];
  const heads = across.slice(0, across.length / rows.length);
  const most = Math.max(...columns.share, 1e-9);
  const cell = (place) => {
    const ends = { low: columns.low[place], high: columns.high[place] };
    const made = h("td", { class: "cell" }, h("b", {}, percent(columns.share[place], 0.001)), h("small", {}, between(ends)));
    made.style.setProperty("--heat", `${Math.round((columns.share[place] / most) * 100)}%`);
    return made;
  };
  const numbers = columns.share.map((share, place) => [down[place], across[place], percent(share, 0.001), percent(columns.low[place], 0.001), percent(columns.high[place], 0.001)]);
  return [
    h("p", { class: "note" }, `Shares of all people: ${label(first)} in rows, ${label(second)} in columns. Small figures are intervals.`),
    scrolling(`${first} by ${second}`, h("table", { class: "heat" }, h("caption", { class: "unseen" }, `${first} by ${second}`),
      h("thead", {}, h("tr", {}, h("td"), heads.map((head) => h("th", { scope: "col" }, label(head))))),
      h("tbody", {}, rows.map((row, number) => h("tr", {}, h("th", { scope: "row" }, label(row)),
        heads.map((_, place) => cell(number * heads.length + place)))))), "tall"),
    numbersTable([first, second, "share", "low", "high"], numbers, `${first} by ${second}, the numbers`)];
}
