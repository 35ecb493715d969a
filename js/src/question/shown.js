// What people read of a plan or a study: the question and the labels of the collection, as its owner has worded them last.

import { LAST_WORDING } from "../numbers.js";

/**
 * The question (or an empty text), the version, and what people read for an item or for the name of a question. Whatever the collector
 * gives that is not of this shape counts as not given, so people then read the items themselves.
 * @param {any} given
 */
export function shownIn(given) {
  const { version, question, labels } = given ?? {};
  const isGiven = Number.isInteger(version) && version > 0 && version <= LAST_WORDING;
  const texts = new Map(isGiven ? Object.entries(labels ?? {}).filter(([, text]) => typeof text === "string") : []);
  return {
    version: isGiven ? /** @type {number} */ (version) : undefined,
    question: isGiven && typeof question === "string" ? question : "",
    label: (/** @type {any} */ item) => {
      const name = typeof item === "string" ? item : JSON.stringify(item);
      return texts.get(name) ?? name;
    },
  };
}
