// What one report reveals, and what forged reports could do, in plain words.

import { card, forStatisticians, h } from "./dom.js";
import { count, several, sure } from "./words.js";

/** What one report can tell about its sender. */
export function privacyCard(plan) {
  const realised = plan.progress.epsilon;
  const odds = Math.exp(realised);
  const after = sure(realised);
  return card("What one report reveals", null,
    h("p", {}, `Somebody who thinks that a person gives one of two ${plan.options.set_size ? "sets of answers" : "answers"}, and finds both equally likely, can after seeing ${plan.options.once ? "all reports of that person" : "the report"} be at most `,
      h("b", {}, after), " sure."),
    h("div", { class: "guess", role: "img", "aria-label": `A guess of 50% becomes at most ${after}` }, meter("before", 0.5, "50%"), meter("after", odds / (1 + odds), after)),
    plan.options.once ? h("p", { class: "note" }, `That holds for all reports of a person together. For one report alone, epsilon is ${plan.options.once}.`) : null,
    plan.options.set_size ? h("p", { class: "note" }, `That holds for whole sets: a report does not tell more about somebody who gives ${plan.options.set_size} answers than about somebody who gives one.`) : null,
    forStatisticians(`The odds between any two ${plan.options.set_size ? "sets" : "answers"} grow at most ${odds < 100 ? odds.toFixed(1) : Math.round(odds)}-fold. The realised epsilon is ${realised.toFixed(6)}, computed from the whole numbers that the devices use; ${plan.epsilon} was asked for. One report has ${several(plan.report_bytes, "byte")} (mechanism ${plan.mechanism}).`));
}

function meter(name, share, text) {
  const bar = h("span", { class: "fill" });
  bar.style.width = `${share * 100}%`;
  return h("div", { class: "meter" }, h("span", {}, name), h("span", { class: "rail" }, bar), h("span", { class: "value" }, text));
}

/** What somebody with many fake devices could do. */
export function forgeryCard(plan, uploads) {
  const { fake_users: forged, suspect_reports: suspect } = plan.progress;
  const flagged = suspect ? h("p", { class: "warning" }, `${count(suspect)} of the reports look forged. They are left out of the shares. `, h("a", { href: uploads }, "See them")) : null;
  const helps = forged && forged.mechanisms[0].needed_here > 1.1 * forged.needed; // whether another mechanism is worth a word
  return card("Exposure to forged reports",
    "Nobody can see whether a private report is honest. This is what fake devices could do to the result.",
    flagged, forged ? [h("p", {}, forged.sentences[0]), helps ? forStatisticians(forged.sentences[1]) : null] : h("p", {}, "This is known when the first reports are there."));
}
