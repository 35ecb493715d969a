// The kinds of questions as people know them, and the fields with which each is asked for in the form of a new survey.

import { freshId, h } from "./dom.js";
import { count } from "./words.js";

/** A field with its label and what helps to fill it in. */
export function field(name, input, help) {
  input.id ||= freshId("field");
  if (!help) return h("div", { class: "field" }, h("label", { for: input.id }, name), input);
  const id = freshId("help");
  input.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, h("label", { for: input.id }, name), input, h("p", { class: "note", id }, help));
}

export const numberInput = (value, more = {}) => h("input", { type: "number", step: "any", value, inputmode: "decimal", ...more });
const written = (input) => (input.value.trim() === "" ? NaN : Number(input.value));

/** What everybody else answers: on by default, because a device that stays silent would tell. */
function rest(text) {
  const other = h("input", { value: text });
  return { other, element: field("Everything else counts as", other, "For people whose answer is not in the list, or who give none. Their devices send this, so that silence gives nobody away.") };
}

function list(most) {
  const items = h("textarea", { rows: 7, spellcheck: "false", placeholder: "tea\ncoffee\nwater" });
  const help = h("span");
  const held = most ? numberInput(4, { min: 1, max: 65_536, step: 1 }) : null;
  const others = rest("something else");
  const read = () => items.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const twice = (lines) => lines.find((line, place) => lines.indexOf(line) !== place);
  const flag = h("p", { class: "warning", hidden: true });
  return {
    element: h("div", { class: "fields" }, field("Answers, one on each line", items, help),
      held ? field("Answers that one person may give at most", held, "Whoever gives more counts for less, so choose a number that few people pass.") : null, flag, others.element),
    said() {
      const lines = read();
      help.textContent = twice(lines) ? `“${twice(lines)}” is listed more than once.` : lines.length ? `${count(lines.length)} answers.` : "They cannot be changed later; a new list is a new survey.";
      flag.hidden = !held || !lines.length || Number(held.value) <= lines.length;
      flag.textContent = "More than there are answers in the list.";
    },
    problem() {
      const lines = read();
      if (twice(lines)) return [`“${twice(lines)}” is listed more than once.`, items];
      return lines.length < 2 ? ["A survey needs at least two answers, one on each line.", items] : null;
    },
    plan: () => ({ items: read(), ...(others.other.value.trim() ? { other: others.other.value.trim() } : {}), ...(held ? { set_size: Number(held.value) } : {}) }),
    question: () => ({ items: read(), ...(others.other.value.trim() ? { other: others.other.value.trim() } : {}), ...(held ? { most: Number(held.value) } : {}) }),
  };
}

function scale(from, to, width) {
  const [low, high] = [numberInput(from), numberInput(to)];
  const step = width === null ? null : numberInput(width, { min: 0 });
  const help = h("p", { class: "note" });
  const others = rest("no answer");
  const wide = () => (step ? written(step) : 1);
  const read = () => ({ low: written(low), high: written(high), step: wide() });
  return {
    element: h("div", { class: "fields" }, h("div", { class: "pair" }, field("From", low), field("To", high), step ? field("In steps of", step) : null), help, others.element),
    said() { help.textContent = `${wide() === 1 ? "Whole numbers." : "Ranges of this width."} A number beyond the ends counts as the end.`; },
    problem() {
      const { low: first, high: last, step: one } = read();
      const steps = (last - first) / one;
      if (!(last > first && one > 0)) return ["Numbers go up from one to another in equal steps.", low];
      if (steps > 65_536) return ["These are more than 65,536 steps: take larger ones, or fewer.", step ?? high];
      return Math.abs(steps - Math.round(steps)) < 1e-6 ? null : [`Steps of ${one} from ${first} do not end at ${last}.`, step ?? high];
    },
    plan: () => ({ scale: read(), ...(others.other.value.trim() ? { other: others.other.value.trim() } : {}) }),
    question: () => ({ ...read(), ...(others.other.value.trim() ? { other: others.other.value.trim() } : {}) }),
  };
}

function text() {
  const top = numberInput(20, { min: 1, max: 1000, step: 1 });
  const known = h("textarea", { rows: 4, spellcheck: "false" });
  const lines = () => known.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    element: h("div", { class: "fields" }, field("How many of the most frequent texts to find", top),
      field("Texts that you know already", known, "Optional, one on each line, such as a dictionary. They need fewer people to be found. Nobody has to list anything.")),
    said() {},
    problem: () => (Number(top.value) >= 1 ? null : ["At least one text is looked for.", top]),
    study: (people) => ({ kind: "discovery", users: people, top: Number(top.value), ...(lines().length ? { known: [...new Set(lines())] } : {}) }),
  };
}

/** Several questions, each with a name and fields of its own. */
function several() {
  const questions = [];
  const place = h("div", { class: "questions" });
  const cross = h("input", { type: "checkbox", id: freshId("cross") });
  const changed = () => place.dispatchEvent(new Event("input", { bubbles: true }));
  function add(name, kind) {
    const title = h("input", { value: name, maxlength: 60, placeholder: "diet" });
    const kinds = h("select", {}, Object.entries(KINDS).filter(([, one]) => !one.alone).map(([key, one]) => h("option", { value: key }, one.title)));
    kinds.value = kind;
    const body = h("div");
    const remove = h("button", { type: "button", class: "small", "aria-label": "Remove this question", onclick() {
      questions.splice(questions.indexOf(one), 1);
      one.element.remove();
      changed();
    } }, "Remove");
    const one = { title, fields: null, element: h("fieldset", { class: "one-question" }, h("legend", {}, "Question"), h("div", { class: "pair" }, field("Short name", title), field("Kind", kinds)), body, remove) };
    const fill = () => { one.fields = KINDS[kinds.value].make(); one.fields.said(); body.replaceChildren(one.fields.element); };
    kinds.addEventListener("change", () => { fill(); changed(); });
    fill();
    questions.push(one);
    place.append(one.element);
  }
  add("", "choice");
  add("", "rating");
  const more = h("button", { type: "button", onclick() { add("", "choice"); questions.at(-1).title.focus(); changed(); } }, "Another question");
  return {
    element: h("div", { class: "fields" }, place, h("div", { class: "actions" }, more),
      h("div", { class: "check" }, cross, h("label", { for: cross.id }, "Also ask pairs of questions together, to see who answers both in which way"))),
    said() { for (const one of questions) one.fields.said(); },
    problem() {
      const names = questions.map((one) => one.title.value.trim());
      if (questions.length < 2) return ["Ask at least two questions, or choose another kind.", more];
      const unnamed = names.findIndex((name, number) => !name || names.indexOf(name) !== number);
      if (unnamed >= 0) return ["Every question needs a short name of its own.", questions[unnamed].title];
      return questions.map((one) => one.fields.problem()).find(Boolean) ?? null;
    },
    study: () => ({ kind: "questionnaire", questions: Object.fromEntries(questions.map((one) => [one.title.value.trim(), one.fields.question()])), ...(cross.checked ? { cross: "all" } : {}) }),
  };
}

/** `alone` kinds are no question among several. `make()` gives the fields: an element, and what they ask for. */
export const KINDS = {
  choice: { title: "One of a list", example: "What do you drink in the morning?", make: () => list(false) },
  choices: { title: "Several of a list", example: "Which of these do you use?", make: () => list(true) },
  rating: { title: "A rating", example: "How do you like it, from 1 to 5?", make: () => scale(1, 5, null) },
  number: { title: "A number", example: "How old are you? How many minutes?", make: () => scale(0, 100, 10) },
  text: { title: "Short text", example: "What do you search for? Nobody lists the answers.", make: text, alone: true },
  several: { title: "Several questions", example: "Diet, age and a rating, in one survey.", make: several, alone: true },
};
