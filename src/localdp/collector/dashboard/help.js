// What the words mean, and how to begin. It comes with the collector, so it always fits its version.

import { freshId, h } from "./dom.js";

/** A word, what it means in one or two sentences, and the page of the documentation that says more. */
const WORDS = {
  epsilon: ["Privacy budget (epsilon)", "How much one answer may give away, at most. At epsilon 1, somebody who finds two answers equally likely is at most 73% sure of one after seeing the report; at 2, at most 88%. Smaller protects better, and needs more people.", "privacy"],
  report: ["Report", "What a device sends: an answer that was changed at random before it left. Nobody can be certain of the answer from it.", "privacy"],
  error: ["Standard error", "How far an estimate is typically off, because answers are noisy: about two out of three are closer than this. Answers that many people give have a slightly larger one, which the list shows.", "what-calibrate-does"],
  visible: ["Smallest share seen", "An answer that this share of the people give stands out of the noise nine times out of ten. Smaller ones may be lost in it.", "choosing"],
  interval: ["Interval", "The true share lies in it nine times out of ten. The intervals in the list are made for the list as it is shown. If you had an answer in mind before looking, search for it: then the interval is one that holds for that.", "calibrate"],
  calibrated: ["Calibrated and raw", "The raw share only has the average of the noise taken out. The calibrated one also uses what all answers together tell, is closer to the truth on average, and is the one to quote.", "what-calibrate-does"],
  hitter: ["Popular answers", "Answers that more people give than the threshold says. The percentage beside each is the probability that it really does.", "heavy-hitters"],
  prior: ["Prior", "What Calibrate has learnt about how shares are spread over the answers. It should agree with the bars.", "what-calibrate-does"],
  suspect: ["Looks forged", "A report that honest devices hardly ever send. It is left out of the shares until somebody takes it in.", "poisoning"],
  mechanism: ["Mechanism", "The way in which devices change answers at random. The collector chooses the one with the smallest error.", "choosing"],
  round: ["Round", "In some surveys other people are asked in each round, and what one round shows decides what the next one asks. Everybody answers once.", "discovery"],
  minimum: ["Minimum", "No share is shown before there are so many reports.", "collector"],
};

/** A small button that explains a word. */
export function hint(word) {
  const [title, text] = WORDS[word];
  const id = freshId("hint");
  return h("span", { class: "hint" },
    h("button", { type: "button", class: "ask", popovertarget: id, "aria-label": `What is: ${title}` }, "?"),
    h("span", { id, popover: "auto", class: "said", role: "note" }, h("b", {}, title), h("span", {}, text), h("a", { href: `#/help/${word}` }, "All words")));
}

const STEPS = [
  ["Make a survey", "Write the question and its answers. The page says how many people it takes, and what to tell them."],
  ["Try it", "Made-up people answer, so that you see what you will get. They are never mixed with real ones."],
  ["Put it on your page", "Copy a few lines into your site or program. Each device blurs its answer before it sends it."],
  ["Watch", "Shares appear here as soon as enough people have answered, with how sure they are."],
];

/** The way from nothing to a chart, in four steps. */
export const guide = (first = 0) => h("ol", { class: "guide" }, STEPS.slice(first).map(([name, text]) => h("li", {}, h("b", {}, name), h("span", {}, text))));

export function helpPage(root, lost, word) {
  document.title = "Help · localdp";
  root.append(h("h1", {}, "Help"),
    h("section", { class: "card", "aria-labelledby": "begin" }, h("h2", { id: "begin" }, "How to begin"), guide(), h("a", { class: "button main", href: "#/new" }, "New survey")),
    h("section", { class: "card", "aria-labelledby": "words" }, h("h2", { id: "words" }, "What the words mean"),
      h("dl", { class: "words" }, Object.entries(WORDS).map(([name, [title, text, page]]) => h("div", { id: `word-${name}` },
        h("dt", {}, title), h("dd", {}, text, " ", h("small", {}, `More in the documentation, on the page “${page.replaceAll("-", " ")}”.`)))))));
  const here = document.getElementById(`word-${word}`);
  if (here) {
    here.classList.add("chosen");
    setTimeout(() => here.scrollIntoView({ block: "center" }));
  }
}
