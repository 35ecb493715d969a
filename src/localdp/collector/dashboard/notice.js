// Paragraphs for the privacy notice of a site, with the epsilon of a survey in words. A paragraph is one line, so that it can be pasted anywhere.

import { sure } from "./words.js";

export function notice({ question, title, epsilon, segments = [] }) {
  return [
    `We ask: ${question || title || "one question"}`,
    `Your browser blurs the answer at random before it leaves your device (local differential privacy, epsilon ${Number(epsilon.toPrecision(3))}). Nobody can be certain of your answer from what we receive: whoever thought two answers equally likely can be at most ${sure(epsilon)} sure of one of them afterwards. Another answer later, or to another question, adds to that, up to a limit that your browser keeps. We learn about how many people gave each answer, and not who.`,
    `We receive the blurred answer, and store it for [HOW LONG] in the order of arrival, with a random number and the day${segments.length ? `, and a label that is not blurred (${segments.join(", ")})` : ""}; after that, only sums and what was stored beside the answer are left. Our server sees your network address while it receives the answer, and does not store it [CHECK THE LOGS OF YOUR WEB SERVER]. Your browser keeps a random secret, its blurred answers, which questions it has answered and when, how much it has told, and whether you said no, so that you are counted once and the blur cannot be averaged away; only the blurred answers leave your device. You can say no, see what your browser has sent, and let it forget its answers, at [WHERE ON THIS SITE]. We do not know which blurred answer is yours, so we cannot show or delete a single one.`,
    "[WHO IS RESPONSIBLE, WHAT FOR, ON WHICH LEGAL BASIS, AND WHERE TO COMPLAIN, unless your notice says so elsewhere.]",
  ].join("\n\n");
}
