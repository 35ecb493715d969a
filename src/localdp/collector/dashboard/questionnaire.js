// The results of several questions: a tab for every question and for every pair that is asked together.

import { ask, save, sentence } from "./api.js";
import { bars, shareBars } from "./charts.js";
import { freshId, h, numbersTable } from "./dom.js";
import { head, loaded, tile } from "./head.js";
import { pictureButtons } from "./picture.js";
import { between, rowsOf, shareList } from "./shares.js";
import { count, label, percent, several } from "./words.js";

const PAUSE = 10_000; // milliseconds between two looks at the number of reports

export async function questionnairePage(root, lost, place, name) {
  const path = `/v1/studies/${name}`;
  const { signal } = root;
  const study = await loaded(root, path);
  const form = await (await fetch(`${path}/document`, { signal })).json();
  const tiles = h("dl", { class: "tiles" });
  const tabs = h("div", { class: "tabs scrolling", role: "tablist", "aria-label": "Questions", hidden: true });
  const panel = h("div", { role: "tabpanel", tabindex: 0, class: "question-panel" }, h("p", { class: "nothing", role: "status" }, "Estimating …"));
  const notes = h("div", { class: "sentences" });
  const answers = h("section", { class: "card wide", "aria-label": "Answers" }, tabs, panel, notes);
  const download = h("button", { type: "button", onclick: () => save(`${path}/result?format=csv&table=${encodeURIComponent(chosen)}`, `${study.short}-${chosen.replace(",", "-")}.csv`).catch(lost) }, "Download CSV");
  root.replaceChildren(head(place, name, study, "", download), tiles, answers);

  let chosen = null;
  let shown = -1;

  function figures(now) {
    const reports = now.parts.reduce((sum, part) => sum + part.reports, 0);
    tiles.replaceChildren(
      tile("People", count(reports), "one report each", "report"),
      tile("Questions", count(form.questions.length), `asked in ${several(now.parts.length, "part")}`),
      tile("Privacy", `ε ${Number(now.epsilon.toFixed(3))}`, "spent once, by everybody", "epsilon"));
    return reports;
  }

  const isScale = (key) => form.questions.some((one) => one.name === key && one.question);

  function show(tables, key) {
    chosen = key;
    for (const tab of tabs.children) {
      const here = tab.dataset.key === key;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
      if (here) panel.setAttribute("aria-labelledby", tab.id);
    }
    const { columns } = tables[key];
    panel.replaceChildren(...(key.includes(",") ? heatMap(key.split(","), columns) : answersOf(key, columns, isScale(key))));
  }

  async function estimates(parts) {
    const least = Math.max(study.minimum, 1);
    const enough = parts.some((part) => part.reports - part.suspect >= least);
    const result = !enough ? null : await ask(`${path}/result`, { signal }).catch((error) => {
      if (error.code !== "too-few-reports") throw error;
      return null; // reports of thin days wait for others
    });
    download.disabled = !result;
    tabs.hidden = !result;
    if (!result) {
      tabs.replaceChildren();
      notes.replaceChildren();
      panel.replaceChildren(h("p", { class: "nothing" }, `Waiting for reports: a part is shown from ${several(least, "report")} on.`));
      return;
    }
    const keys = Object.keys(result.tables);
    tabs.replaceChildren(...keys.map((key) => h("button", { type: "button", role: "tab", id: freshId("tab"), "data-key": key, onclick: () => show(result.tables, key), onkeydown: (event) => move(event, result.tables, keys) }, key.split(",").map(label).join(" × "))));
    notes.replaceChildren(h("p", { class: "note" }, `Estimated from ${several(result.n, "report")}. Intervals hold the true share 9 times out of 10.`),
      ...result.notes.map((note) => h("p", { class: "note" }, sentence(note))));
    show(result.tables, keys.includes(chosen) ? chosen : keys[0]);
  }

  function move(event, tables, keys) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    show(tables, keys[(keys.indexOf(chosen) + step + keys.length) % keys.length]);
    tabs.querySelector('[aria-selected="true"]').focus();
  }

  async function look() {
    try {
      const now = document.hidden ? null : await ask(path, { signal });
      if (now) {
        const reports = figures(now);
        if (reports !== shown) {
          await estimates(now.parts);
          shown = reports;
        }
      }
    } catch (error) { lost(error); return; }
    if (!signal.aborted) setTimeout(look, PAUSE);
  }
  await look();
}

/** The answers to one question, with bars and intervals; numbers stand beside each other in the picture. */
function answersOf(name, columns, ordered) {
  const rows = rowsOf(columns[name].map(label), columns);
  const drawn = () => (ordered ? bars(760, 280, { name, values: columns.share, low: columns.low, high: columns.high, labels: rows.map((row) => row.name), titles: rows.map((row) => row.title), format: (share) => percent(share, 0.01) }) : shareBars(760, rows, name));
  return [shareList(rows), pictureButtons(name, drawn)];
}

/** The table of two questions: a cell is the darker the more people it has. */
function heatMap([first, second], columns) {
  const rows = [...new Set(columns[first])];
  const heads = columns[second].slice(0, columns[second].length / rows.length);
  const most = Math.max(...columns.share, 1e-9);
  const cell = (place) => {
    const ends = { low: columns.low[place], high: columns.high[place] };
    const made = h("td", { class: "cell" }, h("b", {}, percent(columns.share[place], 0.001)), h("small", {}, between(ends)));
    made.style.setProperty("--heat", `${Math.round((columns.share[place] / most) * 100)}%`);
    return made;
  };
  const numbers = columns.share.map((share, place) => [columns[first][place], columns[second][place], percent(share, 0.001), percent(columns.low[place], 0.001), percent(columns.high[place], 0.001)]);
  return [
    h("p", { class: "note" }, `Shares of all people: ${first} in rows, ${second} in columns. Small figures are intervals.`),
    h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": `${first} by ${second}` },
      h("table", { class: "heat" }, h("caption", { class: "unseen" }, `${first} by ${second}`),
        h("thead", {}, h("tr", {}, h("td"), heads.map((head) => h("th", { scope: "col" }, label(head))))),
        h("tbody", {}, rows.map((row, number) => h("tr", {}, h("th", { scope: "row" }, label(row)),
          heads.map((_, place) => cell(number * heads.length + place))))))),
    numbersTable([first, second, "share", "low", "high"], numbers, `${first} by ${second}`)];
}
