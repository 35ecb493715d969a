// What to expect of a survey before it is made: how precise, how many people, how long, and what to tell them.

import { forStatisticians, h } from "./dom.js";
import { hint } from "./help.js";
import { notice } from "./notice.js";
import { count, figure, percent, several } from "./words.js";

const CAP = 8; // what a device gives in all, unless its owner says otherwise

const tile = (term, value, note) => h("div", { class: "tile" }, h("dt", {}, term), h("dd", {}, value, h("small", {}, note)));
const people = (number) => (Math.round(number) === 1 ? "1 person" : `${count(number)} people`);

/** What is never shown because too few people are asked: a part needs the minimum of reports, and each label of it. */
function tooFew({ parts, people: all }, minimum, labels) {
  const needed = parts.map((part) => (minimum * labels) / part.share);
  const short = needed.filter((number) => number > all).length;
  if (!short) return null;
  const what = labels > 1 ? `${several(labels, "segment")}${parts.length > 1 ? ` and ${several(parts.length, "part")}` : ""}` : several(parts.length, "part");
  const begin = short === parts.length ? "Nothing would ever be shown" : `${short} of ${several(parts.length, "part")} would never be shown`;
  return h("p", { class: "warning" }, `${begin} with ${people(all)}: shares are shown from ${several(minimum, "report")} on, and with ${what} that takes about ${people(Math.ceil(Math.max(...needed) / 10) * 10)}. `,
    "Ask more people, ask less, or show shares from fewer reports on (“More options”).");
}

/** The panel beside the form, from the collector's preview and the words of the form. */
export function expected(found, { title, question, minimum, segments, whole }) {
  const [part] = found.parts;
  return [
    tooFew(found, minimum, Math.max(1, segments.length)),
    ...(found.rounds ? rounds(found) : found.parts.length > 1 ? parts(found) : part.mean_error !== null ? scale(part, whole) : part.std_error_share !== null ? shares(part, found.people) : []),
    h("p", { class: "note" }, `It lasts: a device pays ${found.epsilon} once, and gives ${CAP} in all unless its owner says otherwise. `,
      found.rounds || found.parts.length > 1 ? `That is enough for ${several(Math.floor(CAP / found.epsilon), "survey")} like this one.`
        : Math.floor(CAP / found.epsilon) < 2 ? "That is enough for this survey alone." : `That is enough for ${several(Math.floor(CAP / found.epsilon), "survey")} like this one, or for asking every week while an answer changes ${count(Math.floor(CAP / found.epsilon) - 1)} times.`),
    h("details", { class: "telling" }, h("summary", {}, "What to tell people"), h("pre", { tabindex: 0 }, notice({ title, question, epsilon: found.epsilon, segments }))),
  ];
}

function shares(part, all) {
  const { std_error_share: error, visible_share: seen, people_needed: needed } = part;
  return [
    h("dl", { class: "tiles" },
      tile("Typical error of a share", `± ${percent(error)}`, `with ${people(all)}`),
      tile("People needed", count(needed), "to know shares to within 2 points, 9 times out of 10"),
      tile("Smallest share seen", seen === null ? "none" : percent(seen), seen === null ? "not even an answer that everybody gives" : people(seen * all))),
    seen === null || seen > 1.5 / part.cells ? h("p", { class: "warning" }, "An answer of average popularity would be lost in the noise. More people, fewer answers or a larger epsilon help.")
      : h("p", { class: "good" }, "Even an answer of average popularity will stand out of the noise."),
    forStatisticians(`The collector would choose the mechanism ${part.mechanism}; a report has ${several(part.report_bytes, "byte")}.`)];
}

function scale(part, whole) {
  return [h("dl", { class: "tiles" }, tile("Error of the mean", `± ${figure(part.mean_error)}`, `with ${people(part.people)}`), tile("Error of the median", whole && part.median_error < 1 ? "1 at most" : `± ${figure(part.median_error)}`, "if people are spread evenly")),
    h("p", { class: "note" }, "These are standard errors; twice as precise takes four times as many people.", hint("error"))];
}

function rounds({ rounds: { expected: number, reach }, people: all }) {
  return [h("dl", { class: "tiles" }, tile("Rounds", `about ${count(number)}`, "each asks other people"), tile("People needed", count(all), "in all, each answers once")),
    reach ? h("p", { class: "note" }, reach) : null];
}

function parts({ parts: some, people: all }) {
  const worst = Math.max(...some.map((part) => part.std_error_share ?? 0));
  return [h("dl", { class: "tiles" }, tile("Parts", count(some.length), "everybody answers one, drawn at random"),
    tile("People in each", `${count(Math.min(...some.map((part) => part.people)))} or more`, `of ${count(all)}`),
    worst ? tile("Typical error of a share", `± ${percent(worst)}`, "of one part alone, at worst") : null),
  h("p", { class: "note" }, "All parts are estimated together, which makes single questions more precise than that.")];
}
