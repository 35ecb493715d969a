// Making elements. Text only ever becomes text: there is no way from here to markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An HTML element: `h("p", { class: "note" }, "text", otherElement)`. Names that begin with "on" are listeners. */
export function h(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** The same in SVG. */
export function s(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

/** Tell people who listen to the page what has happened. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

let numbers = 0;
/** An id that no other element has. */
export function freshId(beginning) {
  numbers += 1;
  return `${beginning}-${numbers}`;
}

/** Let the page do something else before going on, so that long work does not stall it. */
export function breathe() {
  return new Promise((go) => { setTimeout(go); });
}

/** A function that waits until it was not called for a while. */
export function debounced(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

/** A part of a page with a heading. */
export function card(title, note, ...children) {
  const id = freshId("part");
  return h("section", { class: "card", "aria-labelledby": id },
    h("h2", { id }, title), note ? h("p", { class: "note" }, note) : null, ...children);
}

/** What only statisticians want to know, folded. */
export const forStatisticians = (...said) => h("details", { class: "telling" }, h("summary", {}, "For statisticians"), said.map((one) => h("p", { class: "note" }, one)));

/** Put elements in place of what was there, unless they say the same; what was unfolded stays so. */
export function refill(place, ...made) {
  if (made.map((one) => one.textContent).join("") === place.textContent) return;
  const open = [...place.querySelectorAll("details")].map((one) => one.open);
  place.replaceChildren(...made);
  place.querySelectorAll("details").forEach((one, number) => { one.open = open[number] ?? false; });
}

/** A table that scrolls if it is too wide, and then says so. */
export function scrolling(caption, table, look = "") {
  const view = h("div", { class: `scroll ${look}`, tabindex: 0, role: "region", "aria-label": caption }, table);
  const more = h("p", { class: "sideways", hidden: true, "aria-hidden": "true" }, "Scroll sideways for more →");
  new ResizeObserver(() => { more.hidden = view.scrollWidth <= view.clientWidth + 1; }).observe(view);
  return h("div", { class: "scrolling" }, more, view);
}

/** A table that holds the numbers of a picture, for those who cannot see it or want to know exactly. */
export function numbersTable(head, rows, caption, summary = "The numbers as a table") {
  return h("details", { class: "numbers" },
    h("summary", {}, summary),
    scrolling(caption, h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, place) =>
        place ? h("td", {}, cell) : h("th", { scope: "row" }, cell))))))));
}
