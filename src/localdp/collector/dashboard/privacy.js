// What one report reveals, and what forged reports could do, in plain words.

import { card, h } from "./dom.js";
import { count, percent } from "./words.js";

/** What one report can tell about its sender. */
export function privacyCard(plan) {
  const realised = plan.progress.epsilon;
  const odds = Math.exp(realised);
  const sure = odds / (1 + odds);
  return card("What one report reveals", null,
    h("p", {}, `Somebody who thinks that a person holds one of two ${plan.options.set_size ? "sets of items" : "items"}, and finds both equally likely, can after seeing ${plan.options.once ? "all reports of that person" : "the report"} be at most `,
      h("b", {}, percent(sure, 0.01)), " sure."),
    h("div", { class: "guess", role: "img", "aria-label": `A guess of 50% becomes at most ${percent(sure, 0.01)}` }, meter("before", 0.5), meter("after", sure)),
    h("p", { class: "note" }, `The odds between any two ${plan.options.set_size ? "sets" : "items"} grow at most ${odds < 100 ? odds.toFixed(1) : Math.round(odds)}-fold. `,
      `The realised epsilon is ${realised.toFixed(6)}, computed from the whole numbers that the devices use; ${plan.epsilon} was asked for. `,
      plan.options.once ? `It holds for all reports of a person together; of one report alone, it is ${plan.options.once}. ` : "",
      plan.options.set_size ? `It holds for whole sets: a report does not tell more about somebody who holds ${plan.options.set_size} items than about somebody who holds one. ` : "",
      `One report has ${plan.report_bytes} ${plan.report_bytes === 1 ? "byte" : "bytes"} (mechanism ${plan.mechanism}).`));
}

function meter(name, share) {
  const bar = h("span", { class: "fill" });
  bar.style.width = `${share * 100}%`;
  return h("div", { class: "meter" }, h("span", {}, name), h("span", { class: "rail" }, bar), h("span", { class: "value" }, percent(share, 0.01)));
}

/** What somebody with many fake devices could do. */
export function forgeryCard(plan, uploads) {
  const { fake_users: forged, suspect_reports: suspect } = plan.progress;
  const flagged = suspect ? h("p", { class: "warning" }, `${count(suspect)} of the reports look forged. They are left out of the shares. `, h("a", { href: uploads }, "See them")) : null;
  return card("Exposure to forged reports",
    "Nobody can see whether a private report is honest. This is what fake devices could do to the result.",
    flagged, forged ? forged.sentences.map((one) => h("p", {}, one)) : h("p", {}, "This is known when the first reports are there."));
}
