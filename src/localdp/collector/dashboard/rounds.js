// A survey that goes on in rounds: a discovery of short texts, or of what people hold together.

import { ask, change, save, sentence } from "./api.js";
import { shareBars } from "./charts.js";
import { announce, card, h, numbersTable, refill } from "./dom.js";
import { follow, head, loaded, showTiles, tile } from "./head.js";
import { hint } from "./help.js";
import { pictureButtons } from "./picture.js";
import { between, rowsOf, shareList } from "./shares.js";
import { chance, count, label, percent, several } from "./words.js";

const PAUSE = 10_000; // milliseconds between two looks at the number of reports
const SOON = 2_000; // the same in a trial, which one person watches

/** What each round of a survey of sets is for. */
const SETS = ["How many items people hold", "Which items stand out", "How many of those people hold", "How many people hold each"];

export async function roundsPage(root, lost, place, name) {
  const path = `/v1/studies/${name}`;
  const { signal } = root;
  let study = await loaded(root, path);
  const { kind } = study;
  const download = h("button", { type: "button", disabled: true, onclick: () => save(`${path}/result?format=csv`, `${study.short}.csv`).catch(lost) }, "Download CSV");
  const top = h("div", {});
  const tiles = h("dl", { class: "tiles" });
  const found = h("div", { class: "slot" });
  const list = h("ol", { class: "rounds" });
  const needs = h("p", { class: "note" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const end = h("button", { type: "button", async onclick() {
    end.disabled = error.hidden = true;
    try {
      await change("POST", `${path}/advance?part=${under().key}`);
      study = await ask(path, { signal });
      announce("The round is over.");
      await look();
    } catch (problem) {
      error.textContent = problem.status === 403 ? "This token may only read. Ending a round needs an admin token." : problem.message;
      error.hidden = false;
    }
  } }, "End this round");
  const ending = h("div", { class: "actions" }, end);
  const reach = h("p", { class: "note" });
  root.replaceChildren(top, tiles, h("div", { class: "cards" }, found, h("div", { class: "slot" },
    card("Rounds", null, h("p", { class: "note" }, "Other people are asked in each round, and everybody answers once.", hint("round")), list, needs, ending, error, reach))));

  const under = () => study.parts.find((part) => part.under_way);

  /** What is there stays, and says something new: somebody may be about to press a button. */
  function figures() {
    const { progress, parts } = study;
    const over = parts.filter((part) => !part.under_way).length;
    const reports = parts.reduce((sum, part) => sum + part.reports, 0);
    showTiles(tiles,
      tile("Round", study.state === "done" ? "all over" : `${count(over + 1)} of ${kind === "discovery" ? "about " : ""}${count(progress.expected_rounds)}`, study.state === "open" ? "under way" : study.state, "round"),
      tile("People so far", count(reports), `of about ${count(progress.users)} who are expected`),
      tile("Privacy", `ε ${Number(study.epsilon.toFixed(3))}`, "spent once, by everybody", "epsilon"));
    const rows = Array.from({ length: Math.max(progress.expected_rounds, parts.length) }, (_, number) => parts[number] ?? null);
    refill(list, ...rows.map((part, number) => round(part, number)));
    const least = Math.max(progress.least_reports, study.minimum);
    end.disabled = !under() || under().reports < least;
    needs.textContent = under() ? `${study.automatic ? "A round ends by itself when it has the reports that it waits for." : "A round ends when somebody ends it here."}${end.disabled ? ` It needs at least ${several(least, "report")}.` : ""}` : "";
    ending.hidden = study.state !== "open";
    reach.textContent = progress.reach ?? "";
  }

  /** One round: over, under way, or to come. */
  function round(part, number) {
    const state = !part ? "to come" : part.under_way ? "under way" : "over";
    const bar = h("span", { class: "fill" });
    bar.style.width = `${part ? (part.under_way ? Math.min(1, part.reports / Math.max(part.needed, 1)) * 100 : 100) : 0}%`;
    return h("li", { class: part?.under_way ? "under" : null },
      h("b", {}, `Round ${number + 1}`, h("small", {}, kind === "sets" ? SETS[number] ?? "" : "")),
      h("span", { class: "rail", "aria-hidden": "true" }, bar),
      h("span", { class: "note" }, part?.under_way && part.needed ? `${count(part.reports)} of ${several(part.needed, "report")}` : part ? several(part.reports, "report") : "", h("small", {}, state)));
  }

  /** What is known by now, or in the end. */
  async function results() {
    if (study.state !== "done") {
      const { so_far: far } = study.progress;
      const rows = far.item.map((item, place) => ({ name: far.kind?.[place] === "beginning" ? `${item}…` : item, share: far.share?.[place] }));
      found.replaceChildren(card("Found so far", null, rows.length === 0 ? h("p", { class: "nothing" }, "The first rounds show nothing by themselves. What was found is shown as rounds end.")
        : far.share ? shareList(rows) : h("ul", { class: "candidates" }, rows.map((row) => h("li", {}, row.name))),
      rows.length ? h("p", { class: "note" }, far.share ? "Shares are rough, and later rounds may correct them. An ellipsis stands for an ending that is not known yet." : "These are counted in the last round. Which of them are the most frequent is known then.") : null));
      return;
    }
    download.disabled = false;
    const answer = await ask(`${path}/result`, { signal });
    const [{ columns }] = Object.values(answer.tables);
    const share = (column) => column.map((value) => value / Math.max(answer.n, 1));
    const names = (columns.item ?? columns.items).map((item, place) => (columns.kind?.[place] === "beginning" ? `${item}…` : columns.kind?.[place] === "other" ? "everybody else" : label(item)));
    const rows = rowsOf(names, { share: columns.share, low: share(columns.low), high: share(columns.high) },
      columns.probability.map((value, place) => (columns.kind?.[place] === "beginning" ? "the beginning of longer ones" : value === null ? "" : `one of the most frequent: ${chance(value)}`)));
    const made = card("What was found", null, shareList(rows),
      pictureButtons("What was found", () => shareBars(760, rows, "What was found")),
      h("p", { class: "note" }, `Estimated from ${several(answer.n, "report")}. Intervals hold the true share 9 times out of 10.`),
      ...answer.notes.map((note) => h("p", { class: "note" }, sentence(note))),
      numbersTable(["value", "share", "interval"], rows.map((row) => [row.name, percent(row.share, 0.001), between(row)]), "What was found, the numbers"));
    made.classList.add("wide");
    found.replaceChildren(made);
  }

  let known = "";
  async function look() {
    figures();
    const now = `${study.state} ${study.parts.length}`;
    if (now !== known) {
      if (!known.startsWith(study.state)) top.replaceChildren(head(root, place, name, study, "", download));
      known = now;
      found.replaceChildren(card(study.state === "done" ? "What was found" : "Found so far", null, h("p", { class: "nothing", role: "status" }, "Estimating …")));
      await results();
    }
  }

  await look();
  if (study.state === "open") follow(root, lost, study.trial_of ? SOON : PAUSE, async () => {
    study = await ask(path, { signal });
    await look();
  });
}
