// Paragraphs for the privacy notice of a site, with the epsilon of a survey in words. A paragraph is one line, so that it can be pasted anywhere.

export function notice({ question, title, epsilon, segments = [] }) {
  const factor = Math.exp(epsilon);
  const sure = Math.round((100 * factor) / (1 + factor));
  return [
    `We ask: ${question || title || "one question"}`,
    `Your browser blurs the answer at random before it leaves your device (local differential privacy, epsilon ${Number(epsilon.toPrecision(3))}). Nobody can be certain of your answer from what we receive: whoever thought two answers equally likely can be at most ${sure}% sure of one of them afterwards. Another answer later, or to another question, adds to that, up to a limit that your browser keeps. We learn about how many people gave each answer, and not who.`,
    ...(segments.length ? [`A label comes with it, which is not blurred (${segments.join(", ")}).`] : []),
    "We receive the blurred answer, and store it for [HOW LONG] in the order of arrival, with a random number, the day and any label; after that, only sums and these are left. Our server sees your network address while it receives the answer, and does not store it [CHECK THE LOGS OF YOUR WEB SERVER]. Your browser keeps a random secret, its blurred answers, which questions it has answered and when, how much it has told, and whether you said no, so that you are counted once and the blur cannot be averaged away; only the blurred answers leave your device. You can say no, see what your browser has sent, and let it forget its answers, at [WHERE ON THIS SITE]. We do not know which blurred answer is yours, so we cannot show or delete a single one.",
    "[WHO IS RESPONSIBLE, WHAT FOR, ON WHICH LEGAL BASIS, AND WHERE TO COMPLAIN, unless your notice says so elsewhere.]",
  ].join("\n\n");
}
