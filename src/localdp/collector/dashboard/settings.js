// What an administrator can do with a survey that exists, what was agreed on, and what was done.

import { ask, change, tell } from "./api.js";
import { announce, card, h } from "./dom.js";
import { field } from "./asking.js";
import { head, loaded, placeOf, titleOf } from "./head.js";
import { tryIt } from "./trying.js";
import { count, moment } from "./words.js";

export async function settingsPage(root, lost, place, name) {
  const study = await loaded(root, `/v1/studies/${name}`);
  const trail = h("div", { class: "slot" });
  root.append(head(root, place, name, study, "settings"), h("div", { class: "cards" }, wordsCard(study, root.go), agreedCard(study), lifeCard(study, root.go), trail));
  trail.replaceChildren(await trailCard(study, root.signal));
}

/** A card with buttons and forms that change a survey, and the sentence that says why one of them failed. The page is shown anew, or another one. */
function changing(title, note, go, make) {
  const error = h("p", { class: "error", role: "alert", hidden: true });
  async function done(work, said) {
    error.hidden = true;
    try {
      const place = await work();
      announce(said);
      go(place);
    } catch (problem) {
      error.textContent = problem.status === 403 ? "This token may only read. Changing a survey needs an admin token." : problem.message;
      error.hidden = false;
    }
  }
  return card(title, note, ...make(done), error);
}

function wordsCard(study, go) {
  const path = `/v1/studies/${study.id}`;
  const title = h("input", { id: "new-title", maxlength: 200, value: study.title });
  const question = h("input", { id: "new-question", maxlength: 2000, value: study.question });
  const labels = h("textarea", { rows: 3, spellcheck: "false", value: Object.entries(study.labels).map(([item, text]) => `${item} = ${text}`).join("\n") });
  const read = () => Object.fromEntries(labels.value.split("\n").filter((line) => line.trim()).map((line) => {
    const [, item, text] = /^(.+?) = (.+)$/.exec(line.trim()) ?? [];
    if (!text) throw new Error(`“${line.trim()}” is no label. Write the answer, then = with a space on either side, then what people read instead.`);
    return [item.trim(), text.trim()];
  }));
  return changing("What people read", "What is asked never changes. These words can be corrected, and the trail keeps what was there before.", go, (done) => [
    h("form", { class: "life", onsubmit(event) {
      event.preventDefault();
      done(async () => { await change("PATCH", path, { title: title.value.trim(), question: question.value.trim(), labels: read() }); }, "The words are changed.");
    } },
    h("div", { class: "field" }, h("label", { for: "new-title" }, "Title"), title),
    h("div", { class: "field" }, h("label", { for: "new-question" }, "Question"), question),
    field("Labels", labels, "Optional: what people read instead of an answer, one on each line, such as: system = As my phone has it"),
    h("div", { class: "actions" }, h("button", {}, "Save")))]);
}

function agreedCard(study) {
  const row = (name, text) => h("div", {}, h("dt", {}, name), h("dd", {}, text));
  return card("What was agreed", "Fixed when the survey was made.", h("dl", { class: "facts-list" },
    row("Made", moment(study.created)),
    row("Takes reports", `${study.opens ? `from ${study.opens}` : "from the beginning"}${study.closes ? ` until ${study.closes}` : ", until somebody closes it"}`),
    row("Shares are shown from", `${count(study.minimum)} reports on`),
    row("Privacy budget", `epsilon ${study.epsilon}`),
    row("Uploads", study.write_token ? "need a write token" : "need no token"),
    ...(study.segments.length ? [row("Segments, sent in the clear", study.segments.join(", "))] : []),
    row("Name for programs", h("code", {}, study.id))));
}

const plain = (text) => text.trim().replace(/\s+/g, " ");

function lifeCard(study, go) {
  const path = `/v1/studies/${study.id}`;
  const ended = study.state === "closed" || study.state === "done";
  return changing("Try, clone, close, archive, delete", null, go, (done) => {
    const button = (name, work, said) => h("button", { type: "button", onclick: () => done(async () => { await work(); }, said) }, name);
    const typed = h("input", { id: "delete-name", autocomplete: "off", "aria-describedby": "delete-help" });
    const remove = h("button", { type: "button", class: "danger", disabled: true, onclick: () => done(async () => {
      await change("DELETE", path);
      return "#/";
    }, "The survey is deleted.") }, "Delete for good");
    typed.addEventListener("input", () => { remove.disabled = plain(typed.value) !== plain(titleOf(study)); });
    return [
      h("div", { class: "actions" },
        study.trial_of ? null : h("button", { type: "button", onclick: () => done(() => tryIt(study), "The trial is made.") }, "Try it"),
        study.trial_of ? null : h("button", { type: "button", onclick: () => done(async () => placeOf(await tell(`${path}/clone`, { title: `Copy of ${study.title}`.slice(0, 200), draft: true })), "The copy is made.") }, "Clone"),
        study.state === "done" || (ended && !study.closed) ? null : ended ? button("Open again", () => change("POST", `${path}/reopen`), "The survey takes reports again.")
          : button("Close", () => change("POST", `${path}/close`), "The survey takes no more reports."),
        button(study.archived ? "Take out of the archive" : "Archive", () => change("PATCH", path, { archived: !study.archived }), study.archived ? "The survey is in the list again." : "The survey is archived.")),
      h("p", { class: "note" }, ended ? "It takes no more reports. What was estimated stays." : "A closed survey takes no more reports, and what was estimated stays. Only a closed one can be deleted."),
      ended ? h("details", { class: "more" }, h("summary", {}, "Delete this survey"), h("div", { class: "fields" },
        h("p", { class: "note", id: "delete-help" }, "All its reports and counts are removed from this collector for good; backups keep what they have. Devices are not told: what they remember of it stays on them. Type its title, ", h("b", {}, titleOf(study)), ", to go on."),
        h("div", { class: "field" }, h("label", { for: "delete-name" }, "The title of the survey"), typed), h("div", { class: "actions" }, remove))) : null];
  });
}

/** What was done, in words; what is not here is shown as the collector calls it. */
const DONE = {
  "POST /v1/studies": "Made", "POST /v1/plans": "Made", "POST /v1/discoveries": "Made",
  "POST /v1/studies/{study}/trial": "A trial made", "POST /v1/studies/{study}/clone": "A copy made", "POST /v1/studies/{study}/begin": "Begun",
  "POST /v1/studies/{study}/reopen": "Opened again",
  "POST /v1/studies/{study}/close": "Closed", "POST /v1/plans/{plan}/close": "Closed",
  "POST /v1/studies/{study}/advance": "Ended a round", "POST /v1/discoveries/{discovery}/advance": "Ended a round",
  "POST /v1/plans/{plan}/aggregates": "Counts from elsewhere added", "POST /v1/plans/{plan}/uploads": "Uploads taken in, or left out",
};

/** What an entry says, in words. */
const said = ({ what, detail }) => (what !== "PATCH /v1/studies/{study}" ? DONE[what] ?? what
  : detail.startsWith("archived: no") ? "Archived" : detail.startsWith("archived: yes") ? "Taken out of the archive" : "Corrected");

/** Entries that repeat the one before as one, with how often. */
function together(trail) {
  const made = [];
  for (const one of trail) {
    const last = made.at(-1);
    if (last && ["what", "who", "detail"].every((name) => last[0][name] === one[name])) last[1] += 1;
    else made.push([one, 1]);
  }
  return made;
}

/** What administrators did with this survey. */
async function trailCard(study, signal) {
  let shown;
  try {
    const { trail } = await ask(`/v1/trail?study=${study.id}&most=50`, { signal });
    shown = trail.length ? h("ul", { class: "trail" }, together(trail).map(([one, times]) => h("li", {}, h("span", {}, said(one), times > 1 ? `, ${count(times)} times` : "", one.detail ? h("small", {}, one.detail) : null),
      h("span", { class: "note" }, `token ${one.who ? `“${one.who}”` : one.token}, ${moment(one.moment)}`)))) : h("p", { class: "note" }, "There is no record of what was done: it was made by the command, or before records were kept.");
  } catch (error) {
    if (error.name === "AbortError") throw error;
    shown = h("p", { class: "note" }, error.status === 403 ? "Only an admin token shows who did what." : error.message);
  }
  return card("What was done", null, shown);
}
