// The list of all surveys, whatever their kind.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { badge, kindTitle, placeOf, stateOf, titleOf } from "./head.js";
import { guide } from "./help.js";
import { count, several } from "./words.js";

const MANY = 6; // surveys above which the list can be searched

export async function studiesPage(root) {
  document.title = "Surveys · localdp";
  root.append(h("div", { class: "head" }, h("h1", {}, "Surveys"), h("a", { class: "button main", href: "#/new" }, "New survey")));
  const waiting = h("p", { class: "note loading", role: "status" }, "Loading …");
  root.append(waiting);
  const [{ plans }, { studies }] = await Promise.all(["/v1/plans", "/v1/studies"].map((path) => ask(path, { signal: root.signal })));
  waiting.remove();
  const known = new Map(plans.map((plan) => [plan.id, plan]));
  const every = studies.map((study) => ({ ...study, ...known.get(study.id) }));
  if (!every.length) {
    root.append(h("div", { class: "card empty" }, h("h2", {}, "Nothing is collected yet"), guide(),
      h("a", { class: "button main", href: "#/new" }, "Make the first survey")));
    return;
  }
  const archived = every.filter((one) => one.archived);
  const shown = every.filter((one) => !one.archived);
  const list = h("ul", { class: "plans" });
  const none = h("p", { class: "nothing", role: "status", hidden: true }, "No survey matches.");
  const fill = (some) => { list.replaceChildren(...some.map((one) => h("li", {}, entry(one)))); none.hidden = some.length > 0; };
  fill(shown);
  root.append(...(shown.length > MANY ? [tools(shown, fill)] : []), list, none);
  if (archived.length) root.append(h("details", {}, h("summary", {}, `Archived (${count(archived.length)})`), h("ul", { class: "plans" }, archived.map((one) => h("li", {}, entry(one))))));
}

/** Search by words, and choose a kind or a state. */
function tools(every, fill) {
  const search = h("input", { type: "search", "aria-label": "Search surveys", placeholder: "Search surveys" });
  const choice = (name, of) => h("select", { "aria-label": name }, h("option", { value: "" }, `${name}: all`),
    [...new Set(every.map(of))].toSorted().map((text) => h("option", { value: text }, text)));
  const kind = choice("Kind", kindTitle);
  const state = choice("State", stateOf);
  const element = h("div", { class: "tools" }, search, kind, state);
  element.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase();
    fill(every.filter((one) => (!kind.value || kindTitle(one) === kind.value) && (!state.value || stateOf(one) === state.value)
      && `${titleOf(one)} ${one.question}`.toLowerCase().includes(words)));
  });
  return element;
}

function entry(one) {
  const reports = one.parts.reduce((sum, part) => sum + part.reports, 0);
  const round = one.parts.filter((part) => !part.under_way).length;
  const facts = one.size ? several(one.size, "answer") : one.kind === "questionnaire" ? several(one.parts.length, "part")
    : one.state === "done" ? "all rounds over" : `round ${count(round + 1)}`;
  return h("a", { class: "card plan", href: placeOf(one) },
    h("span", { class: "name" }, titleOf(one)), badge(one),
    h("span", { class: "note question" }, one.question || kindTitle(one)),
    h("span", { class: "facts" }, h("span", {}, h("b", {}, count(reports)), reports === 1 ? " report" : " reports"),
      h("span", {}, facts), h("span", {}, "epsilon ", h("b", {}, String(one.epsilon))),
      one.question ? h("span", {}, kindTitle(one)) : null));
}
