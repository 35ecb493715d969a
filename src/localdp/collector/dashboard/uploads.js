// Uploads that look forged: see them, leave them out, take them in.

import { ask, change } from "./api.js";
import { announce, card, h, scrolling } from "./dom.js";
import { head, loaded } from "./head.js";
import { hint } from "./help.js";
import { count, several, shortDay } from "./words.js";

const STANDINGS = { suspect: "Look forged", counted: "Counted", "taken-back": "Left out by hand" };
const MOST = 200; // uploads that are listed at once

export async function uploadsPage(root, lost, place, name) {
  const path = `/v1/plans/${name}`;
  const plan = await loaded(root, path);
  const standing = h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, "Which uploads"), Object.entries(STANDINGS).map(([value, text], number) => h("label", {},
    h("input", { type: "radio", name: "standing", value, checked: number === 0, onchange: () => list().catch(lost) }), h("span", {}, text))));
  const body = h("tbody");
  const table = scrolling("Uploads, a table", h("table", {}, h("caption", { class: "unseen" }, "Uploads"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "upload"), ["day", "reports", "look forged"].map((text) => h("th", { scope: "col" }, text)))), body), "tall");
  const said = h("p", { class: "note", role: "status" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const move = (take, text) => h("button", { type: "button", disabled: true, onclick: () => moved(take) }, text);
  const [back, into] = [move("back", "Leave out"), move("in", "Take in")];
  const chosen = () => [...body.querySelectorAll("input:checked")].map((box) => Number(box.value));
  body.addEventListener("change", () => { back.disabled = into.disabled = !chosen().length; });
  const all = h("button", { type: "button", onclick() {
    for (const box of body.querySelectorAll("input")) box.checked = true;
    body.dispatchEvent(new Event("change"));
  } }, "Choose all");
  root.append(head(root, place, name, plan, "uploads"),
    h("dl", { class: "tiles" }, [["Counted", plan.counted], ["Look forged", plan.suspect], ["Left out by hand", plan.taken_back]].map(([term, value]) =>
      h("div", { class: "tile" }, h("dt", {}, term), h("dd", {}, count(value), h("small", {}, value === 1 ? "report" : "reports"))))),
    card("Uploads", null, h("p", { class: "note" }, "Reports that honest devices hardly ever send are left out of the shares.", hint("suspect"), " Shares follow a decision when at least the minimum of reports has changed."),
      standing, table, said, h("div", { class: "actions" }, all, back, into), error));

  let latest = 0;
  async function list() {
    const turn = (latest += 1);
    const which = standing.querySelector(":checked").value;
    body.replaceChildren(); // nobody should choose uploads of another kind while these are on their way
    back.disabled = into.disabled = table.hidden = all.hidden = true;
    said.textContent = "Loading …";
    back.hidden = which === "taken-back";
    into.hidden = which === "counted";
    let found = [];
    try {
      found = (await ask(`${path}/uploads?standing=${encodeURIComponent(which)}&most=${MOST}`, { signal: root.signal })).uploads;
    } catch (problem) {
      if (problem.status !== 403) throw problem;
      said.textContent = "This token may only read. Single uploads need an admin token.";
      all.hidden = back.hidden = into.hidden = table.hidden = true;
      return;
    }
    if (turn !== latest) return;
    body.replaceChildren(...found.map((one) => h("tr", {}, h("th", { scope: "row" }, h("label", { class: "inline" }, h("input", { type: "checkbox", value: one.upload }), ` ${count(one.upload)}`)),
      h("td", {}, shortDay(one.day)), h("td", {}, count(one.reports)), h("td", {}, count(one.suspect)))));
    table.hidden = all.hidden = !found.length;
    said.textContent = found.length ? `${several(found.length, "upload")}${found.length === MOST ? ", the first of more" : ""}.` : which === "suspect" ? "Nothing looks forged." : "There are none.";
  }

  async function moved(take) {
    error.hidden = true;
    try {
      const { moved: number } = await (await change("POST", `${path}/uploads`, { take, uploads: chosen() })).json();
      announce(`${several(number, "upload")} ${take === "in" ? "taken in" : "left out"}.`);
      root.go();
    } catch (problem) {
      error.textContent = problem.message;
      error.hidden = false;
    }
  }
  await list();
}
