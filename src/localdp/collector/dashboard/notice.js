// Paragraphs for the privacy notice of a site, with the epsilon of a survey in words. A paragraph is one line, so that it can be pasted anywhere.

export function notice({ question, title, epsilon }) {
  const factor = Math.exp(epsilon);
  const sure = Math.round((100 * factor) / (1 + factor));
  return [
    `We ask: ${question || title || "one question"}`,
    `Your browser blurs the answer at random before it leaves your device (local differential privacy, epsilon ${Number(epsilon.toPrecision(3))}). Nobody can be certain of your answer from what we receive: whoever thought two answers equally likely can be at most ${sure}% sure of one of them afterwards. We learn about how many people gave each answer, and not who.`,
    "We receive the blurred answer, and store it with a random number and the day on which it came, for [HOW LONG]; after that, only sums, the day and the random number are left. Our server sees your network address while it receives the answer, and does not store it. Your browser keeps a random secret, which questions it has answered and when, so that you are counted once and the blur cannot be averaged away; this stays on your device. You can say no, see what your browser has sent, and let it forget its answers, at [WHERE ON THIS SITE]. We do not know which blurred answer is yours, so we cannot show or delete a single one.",
    "[WHO IS RESPONSIBLE, WHAT FOR, ON WHICH LEGAL BASIS, AND WHERE TO COMPLAIN, unless your notice says so elsewhere.]",
  ].join("\n\n");
}
