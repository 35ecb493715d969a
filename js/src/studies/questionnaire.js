// A questionnaire: every person answers one part of it, a question or two that are crossed, drawn without looking at the answers.
//
// Every question has a cell for people who do not answer. The cells of two crossed questions are pairs, row after row.

import { isObject } from "../canonical_json.js";
import { Domain } from "../domain.js";
import { InvalidInputError, PlanMismatchError } from "../errors.js";
import { readSet } from "../item_sets.js";
import { planText } from "../plan.js";
import { Scale } from "../scale.js";
import { isWhole } from "../whole.js";
import { need } from "./study.js";

const NO_ANSWER = "no answer";
const MOST_QUESTIONS = 100;
const MOST_PARTS = 1000;
const MOST_CELLS = 2 ** 21; // 2^20 in all questions, and once more in the parts that ask one of them

/**
 * @param {any} document
 * @param {string} fingerprint
 * @returns {import("./study.js").Kind}
 */
export function questionnaire({ questions, parts, epsilon }, fingerprint) {
  need(isWhole(questions.length, 1, MOST_QUESTIONS), isWhole(parts.length, 1, MOST_PARTS)); // each takes a while to be read
  let cells = 0; // that were made so far: a short document must not fill the memory, or stop a page
  const counted = (/** @type {Asked} */ one) => {
    need((cells += one._size) <= MOST_CELLS);
    return one;
  };
  /** @type {Map<string, Asked>} */
  const form = new Map(questions.map((/** @type {any} */ { name, ...question }) => [name, counted(asked(question))]));
  const named = (/** @type {string} */ name) => {
    const found = form.get(name);
    if (!found) throw new InvalidInputError(`there is no question ${name}`);
    return found;
  };
  let places = 0;
  /** @type {{ _first: number, _end: number, _text: string, _asks: string[] }[]} */
  const made = parts.map((/** @type {any} */ { asks, places: more, mechanism }) => {
    const [one, other] = asks.map(named);
    // A list of several items has no row in a table, so a device would fall silent, or not, by what its user holds.
    need(isWhole(more, 1, 2 ** 32), asks.length === 1 || (asks.length === 2 && !one._isSet && !other._isSet));
    const details = other ? { domain: { size: one._size * other._size } } : counted(one)._details;
    const _text = planText({ ...details, epsilon, mechanism, part: { study: fingerprint, name: asks.join() } });
    return { _first: places, _end: (places += more), _text, _asks: asks };
  });
  return {
    _what: "questionnaire",
    _places: places,
    _label: "place",
    _at: (place) => made.find(({ _end }) => place < _end)?._text,
    _part(_, __, ___, text) {
      const found = made.find(({ _text }) => _text === text);
      if (!found) throw new PlanMismatchError("this part belongs to another study");
      return {
        ...found,
        _read(answers) {
          if (!isObject(answers)) throw new InvalidInputError("the answers are an object");
          Object.keys(answers).forEach(named);
          const [held, other] = /** @type {number[]} */ (found._asks.map((name) => named(name)._read(answers[name])));
          return found._asks[1] ? held * named(found._asks[1])._size + other : held;
        },
      };
    },
  };
}

/**
 * A question with a cell for people who do not answer: how many cells it has, what a plan says of it, and how an answer is read.
 * @typedef {{ _size: number, _isSet?: unknown, _details: object, _read(answer: unknown): import("../plan.js").Held }} Asked
 */

/**
 * @param {any} question
 * @returns {Asked}
 */
function asked({ question, domain: given, ...sets }) {
  if (question) {
    const scale = { other: NO_ANSWER, ...question };
    const cells = new Scale(scale);
    return { _size: cells.size, _details: { question: scale }, _read: (answer) => cells.index(answer) };
  }
  const domain = "other" in given ? given : withOneMore(new Domain(given));
  const cells = new Domain(domain);
  const read = (/** @type {any} */ answer) =>
    sets.set_size ? readSet(typeof answer === "object" && answer?.[Symbol.iterator] ? answer : [answer], cells) : cells.index(answer);
  return { _size: cells.size, _isSet: sets.set_size, _details: { domain, ...sets }, _read: read };
}

/** @param {Domain} domain */
function withOneMore({ items, size }) {
  let other = NO_ANSWER;
  while (items?.includes(other)) other = `(${other})`;
  return items ? { items: [...items, other], other } : { size: size + 1, other: size };
}
