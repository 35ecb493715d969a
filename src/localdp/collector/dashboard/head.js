// What the pages of one survey have in common, whatever its kind: its head, and the way from one page to the other.

import { ask, onlySurvey } from "./api.js";
import { h } from "./dom.js";
import { hint } from "./help.js";
import { trialBar } from "./trying.js";
import { useLabels } from "./words.js";

const TITLES = {
  choice: "One of a list", choices: "Several of a list", scale: "A rating or a number",
  questionnaire: "Several questions", discovery: "Short text", sets: "Several of a list, in rounds",
};

/** How people know the kind of a survey: that of its question if it is a plan. */
export const kindTitle = (study) => TITLES[study.kind] ?? "Survey";

/** The title of a survey, or what stands for it. */
export const titleOf = (study) => study.title || `Survey ${study.short.slice(0, 8)}`;

/** Where the pages of a survey begin. */
export const placeOf = (study) => (WITH_PARTS.includes(study.kind) ? `#/${study.kind}/${study.id}` : `#/plan/${study.short}`);
const WITH_PARTS = ["questionnaire", "discovery", "sets"];

const PAGES = { "": "Results", send: "Send reports", uploads: "Uploads", settings: "Settings", report: "Report" };

/** The head of a page of a survey: what it is, what can be done at once, and its other pages. */
export function head(root, place, name, study, here, ...actions) {
  const title = titleOf(study);
  useLabels(study.labels);
  document.title = `${here ? `${PAGES[here]} · ` : ""}${title} · localdp`;
  const pages = Object.entries(PAGES).filter(([page]) => (onlySurvey() ? !page || page === "report" : page !== "uploads" || place === "plan"));
  const nav = h("nav", { class: "pages", "aria-label": "Pages of this survey" }, pages.map(([page, text]) =>
    h("a", { href: `#/${place}/${name}${page && `/${page}`}`, "aria-current": page === here ? "page" : null }, text)));
  setTimeout(() => { nav.scrollLeft = nav.querySelector("[aria-current]").offsetLeft - nav.clientWidth / 3; }); // on a phone, the page that is shown is seen
  return h("div", { class: "about" },
    h("div", { class: "head" },
      h("div", {}, h("h1", {}, title, " ", badge(study)),
        h("p", { class: "lead" }, study.question || (TITLES[study.kind] ?? ""))),
      h("div", { class: "actions" }, ...actions)),
    nav, onlySurvey() ? null : trialBar(root, study, place));
}

/** The state of a survey, in a word. */
export const stateOf = (study) => (study.trial_of ? "trial" : study.draft || study.state === "planned" ? "not begun" : study.state);
export const badge = (study) => h("span", { class: `badge ${study.trial_of || study.draft ? "trial" : study.state}` }, stateOf(study));

/** One figure at the top of a page; `word` is explained on demand. */
export const tile = (term, value, note, word) => h("div", { class: "tile" },
  h("dt", {}, term, word ? hint(word) : null), h("dd", {}, value, h("small", {}, note)));

/** Show figures. Where a tile is there already only its figure is new, so that an explanation stays open. */
export function showTiles(place, ...tiles) {
  const term = (one) => one.firstChild.textContent;
  const wanted = tiles.map(term);
  for (const one of [...place.children]) if (!wanted.includes(term(one))) one.remove();
  tiles.forEach((one, number) => {
    const there = place.children[number];
    if (there && term(there) === term(one)) there.lastChild.replaceWith(one.lastChild);
    else place.insertBefore(one, there ?? null);
  });
}

const GONE = [401, 403, 404]; // what there is no use in asking again for

/** Look again and again, until the page is left. What fails is said, until it works again. */
export function follow(root, lost, pause, look) {
  let failed = false;
  async function turn() {
    try {
      if (!document.hidden) {
        await look();
        if (failed) root.querySelector(":scope > .error")?.remove();
        failed = false;
      }
    } catch (error) {
      if (!failed) lost(error);
      failed = true;
      if (GONE.includes(error.status)) return;
    }
    if (!root.signal.aborted) setTimeout(turn, pause);
  }
  setTimeout(turn, pause);
}

/** Ask for a survey, and say so meanwhile. */
export async function loaded(root, path) {
  root.append(h("p", { class: "note loading", role: "status" }, "Loading …"));
  const found = await ask(path, { signal: root.signal });
  root.querySelector(".loading")?.remove();
  return found;
}
