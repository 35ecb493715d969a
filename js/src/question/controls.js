// The controls of one question: plain elements of HTML, in the colours and fonts of the page.

/** @typedef {import("./asked.js").Asked} Asked */
/** @typedef {import("./words.js").Words} Words */

const MOST_SHOWN = 12; // choices that are all shown; more are a list to open

/**
 * An element with properties and children.
 * @param {string} name
 * @param {Record<string, unknown>} properties
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

let questions = 0;

/**
 * The controls of a question, and a function that gives what was answered; undefined if nothing was.
 * @param {Asked} asked
 * @param {string} title
 * @param {boolean} required
 * @param {Words} words
 * @param {(item: any) => string} label what people read for an item
 * @returns {{ element: HTMLElement, answer: () => any }}
 */
export function controls(asked, title, required, words, label) {
  const { kind, low = 0, high = 0, step = 1, longest } = asked;
  const other = asked.other !== undefined || !required;
  if (kind === "text" || kind === "key") {
    const input = make("input", { type: "text", required, autocomplete: "off", ...(kind === "key" ? { inputMode: "numeric", pattern: "[0-9]+" } : { maxLength: longest }) });
    const value = () => input.value.trim();
    return { element: make("label", {}, title, input), answer: () => (value() ? (kind === "key" ? BigInt(value()) : value()) : undefined) };
  }
  const isRating = kind === "number" && step === 1 && high - low < MOST_SHOWN;
  if (kind === "number" && !isRating) {
    const input = make("input", { type: "number", min: low, max: high, step: step === 1 ? 1 : "any", required: !other });
    return { element: make("label", {}, title, input), answer: () => (input.value === "" ? undefined : Number(input.value)) };
  }
  const items = isRating ? Array.from({ length: high - low + 1 }, (_, i) => low + i) : /** @type {any[]} */ (asked.items);
  const several = kind === "several";
  if (!several && items.length > MOST_SHOWN) {
    const options = items.map((item, i) => make("option", { value: i }, label(item)));
    const select = make("select", { required: !other }, make("option", { value: "" }, words.choose), ...options);
    return { element: make("label", {}, title, select), answer: () => items[select.value === "" ? -1 : select.value] };
  }
  const named = `localdp-${++questions}`; // radio buttons of one question belong together
  const listed = isRating && other ? [...items, undefined] : items;
  const inputs = listed.map((_, i) => make("input", { type: several ? "checkbox" : "radio", name: named, value: i, required: !several && required }));
  const labels = inputs.map((input, i) => make("label", {}, input, label(listed[i] ?? asked.other ?? words.none)));
  const element = make("fieldset", { className: isRating ? "localdp-row" : "" }, make("legend", {}, title), ...labels);
  const chosen = () => listed.filter((_, i) => inputs[i].checked);
  return { element, answer: () => (several ? chosen() : chosen()[0]) };
}
