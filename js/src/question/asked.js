// What the document of a plan or a study asks a person, for the page.

/**
 * One question: its name in a questionnaire, its kind, and what the kind needs.
 * @typedef {object} Asked
 * @property {string} name
 * @property {"one" | "several" | "number" | "text" | "key"} kind
 * @property {(string | number | boolean)[]} [items]
 * @property {unknown} [other] the answer of people who give none
 * @property {number} [low]
 * @property {number} [high]
 * @property {number} [step]
 * @property {number} [longest] bytes
 */

/**
 * @param {any} document
 * @returns {Asked[]}
 */
export function questionsIn(document) {
  if (document.questions) return document.questions.map((/** @type {any} */ one) => ({ ...cellsIn(one), name: one.name }));
  if (document.values) return [{ name: "", kind: document.values.kind === "text" ? "text" : "key", longest: document.values.most_bytes }];
  return [{ ...cellsIn(document), name: "", ...(document.format === "localdp-sets/1" && { kind: "several" }) }];
}

/**
 * @param {any} given
 * @returns {Omit<Asked, "name">}
 */
function cellsIn({ domain, question, set_size: setSize }) {
  if (question) return { kind: "number", ...question };
  const items = domain.items ?? Array.from({ length: domain.size }, (_, i) => i);
  return { kind: setSize ? "several" : "one", items, other: domain.other };
}
