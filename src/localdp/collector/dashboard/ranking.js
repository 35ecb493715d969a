// The ranked list of items. Only the rows that can be seen exist, so that tens of thousands of items stay fast.

import { shareBars } from "./charts.js";
import { announce, breathe, debounced, h } from "./dom.js";
import { hint } from "./help.js";
import { pictureButtons } from "./picture.js";
import { between, truthMark } from "./shares.js";
import { count, label, percent } from "./words.js";

const SPARE = 6; // rows above and below those that can be seen
const SEEN = 10.5; // rows that the list shows at once
const LONG = 22; // letters above which a name may be cut: then it is a button that shows the whole
const IN_PICTURE = 20; // rows of a picture that is saved
const ORDERS = {
  frequency: "Calibrated share",
  raw: "Raw share",
  name: "Name",
};

export function ranking(signal) {
  let table = null; // the columns that the collector gave
  let unit = 0; // the standard error as a share of the users
  let names = []; // the items as text, and in lower case
  let folded = [];
  let order = []; // places of all items in the chosen order
  let found = []; // those that match the search
  let best = order; // places of all items, the most frequent first
  let ranks = new Uint32Array(0); // the rank of each item by calibrated frequency
  let named = false; // whether people search: what holds for a list of the largest does not hold for items named beforehand
  let scale = 1;
  let tall = 44;

  const rows = h("div", { class: "rows" });
  const head = h("div", { class: "row headings", role: "row" },
    ["#", "Answer", "Calibrated, interval and raw", "Share", "Interval", "Raw ± error"].map((name, place) =>
      h("span", { role: "columnheader", class: ["rank", "item", "track", "share", "interval", "raw"][place] }, name)));
  const view = h("div", { class: "view", tabindex: 0, role: "rowgroup", "aria-label": "Answers; scroll with the arrow keys" }, rows);
  const list = h("div", { class: "ranking", role: "table", "aria-label": "Answers and their shares" },
    h("div", { role: "rowgroup" }, head), view);
  const search = h("input", { type: "search", id: "search", placeholder: "Search answers", "aria-label": "Search answers", autocomplete: "off" });
  const sort = h("select", { "aria-label": "Sort by" }, Object.entries(ORDERS).map(([value, text]) => h("option", { value }, text)));
  const result = h("p", { class: "note", role: "status" });
  const whole = h("p", { class: "whole-name", role: "status", hidden: true });
  const legend = h("p", { class: "legend", "aria-hidden": "true" },
    h("span", { class: "key dot" }), "calibrated", h("span", { class: "key span" }), "interval", h("span", { class: "key tick" }), "raw", h("span", { class: "key truth" }), h("span", { class: "truly" }, "made-up truth"));
  const hints = h("span", {}, hint("calibrated"));
  const empty = h("p", { class: "nothing", hidden: true }, "No answer matches.");
  const element = h("div", {}, h("div", { class: "tools" }, search, h("label", { class: "inline" }, "Sort by ", sort), legend, hints), list, empty, whole,
    h("div", { class: "tools foot" }, result, hint("interval"), pictureButtons("Shares", draw)));

  const pool = new Map(); // rows that exist, by their place in the list

  function arrange() {
    if (sort.value === "frequency") {
      order = best;
      return;
    }
    order = Uint32Array.from({ length: names.length }, (_, place) => place);
    const column = table[sort.value];
    if (sort.value === "name") {
      const collator = new Intl.Collator("en", { numeric: true });
      const plain = names.length > 5_000; // a collator would stall the page
      order.sort((a, b) => (plain ? (folded[a] < folded[b] ? -1 : folded[a] > folded[b] ? 1 : 0) : collator.compare(names[a], names[b])));
    } else {
      order.sort((a, b) => column[b] - column[a] || a - b);
    }
  }

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    found = wanted ? order.filter((place) => folded[place].includes(wanted)) : order;
    tall = matchMedia("(max-width: 720px)").matches ? 88 : 44;
    rows.style.height = `${found.length * tall}px`;
    view.style.height = `${Math.min(found.length, SEEN) * tall}px`;
    list.setAttribute("aria-rowcount", found.length + 1);
    list.hidden = found.length === 0;
    empty.hidden = found.length !== 0;
    named = wanted !== "";
    whole.hidden = true;
    result.textContent = named
      ? `${count(found.length)} of ${count(names.length)} answers match. Shares and intervals are those that hold for answers named before looking.`
      : `${count(names.length)} answers. Intervals hold for this list. If you had an answer in mind before looking, search for it, and read that interval.`;
    paint(true);
  }

  function newRow() {
    const cell = (name) => h("span", { role: "cell", class: name });
    const span = h("span", { class: "span" });
    const tick = h("span", { class: "tick" });
    const dot = h("span", { class: "dot" });
    const bar = h("span", { class: "bar" });
    const track = h("span", { role: "cell", class: "track" }, h("span", { class: "rail", "aria-hidden": "true" }, bar, span, tick, dot));
    const truth = truthMark(0);
    track.firstChild.append(truth);
    const parts = { truth, rank: cell("rank"), item: cell("item"), track, share: cell("share"), interval: cell("interval"), raw: cell("raw"), bar, span, tick, dot };
    const element = h("div", { class: "row", role: "row" }, parts.rank, parts.item, track, parts.share, parts.interval, parts.raw);
    return { element, ...parts };
  }

  /** The share of an item and its interval: that of the list, or that of an item which was named before looking. */
  function read(place) {
    const from = named ? table.named : { share: table.share, low: table.share_low, high: table.share_high };
    return { share: from.share[place], low: from.low[place], high: from.high[place] };
  }

  /** The rows at the top as a picture. */
  function draw() {
    return found.length ? shareBars(760, [...found.slice(0, IN_PICTURE)].map((place) => ({ name: names[place], ...read(place), text: percent(read(place).share, unit / 10) })), "Shares") : null;
  }

  /** A name that may be cut can be read whole. */
  function nameOf(name) {
    return name.length <= LONG ? name : h("button", { type: "button", class: "name", tabindex: 0, onclick() {
      whole.textContent = name;
      whole.hidden = false;
    } }, name);
  }

  function put(row, index) {
    const place = found[index];
    const at = (share) => `${Math.min(Math.max(share / scale, 0), 1) * 100}%`;
    const users = table.users;
    const raw = table.raw[place] / users;
    const { share, low, high } = read(place);
    row.element.setAttribute("aria-rowindex", index + 2);
    row.element.style.transform = `translateY(${index * tall}px)`;
    row.rank.textContent = count(ranks[place]);
    row.item.replaceChildren(nameOf(names[place]));
    row.share.textContent = percent(share, unit / 10);
    row.interval.textContent = between({ low, high }, unit / 10);
    row.raw.textContent = `${percent(raw, unit / 10)} ± ${percent(table.raw_std_error[place] / users, unit / 10)}`;
    row.span.style.left = at(low);
    row.span.style.right = `${(1 - Math.min(high / scale, 1)) * 100}%`;
    row.tick.style.left = at(raw);
    row.truth.hidden = !table.truth;
    if (table.truth) row.truth.style.left = at(table.truth[table.item[place]] ?? 0);
    row.dot.style.left = row.bar.style.width = at(share);
  }

  /** Put rows where they can be seen: all of them anew, or those that were not there before. */
  function paint(anew) {
    const first = Math.max(0, Math.floor(view.scrollTop / tall) - SPARE);
    const last = Math.min(found.length, Math.ceil((view.scrollTop + view.clientHeight) / tall) + SPARE);
    const free = [];
    for (const [index, row] of pool) {
      if (index < first || index >= last) {
        pool.delete(index);
        free.push(row);
      }
    }
    for (let index = first; index < last; index += 1) {
      let row = pool.get(index);
      if (!row) {
        row = free.pop() ?? newRow();
        pool.set(index, row);
        if (!row.element.isConnected) rows.append(row.element);
        put(row, index);
      } else if (anew) {
        put(row, index);
      }
    }
    for (const row of free) row.element.remove();
  }

  /** Rows in the order in which they are seen, for those who listen. */
  const settle = debounced(250, () => {
    const sorted = [...pool].toSorted(([a], [b]) => a - b).map(([, row]) => row.element);
    if (sorted.some((row, place) => rows.children[place] !== row)) rows.append(...sorted);
  });

  const still = debounced(600, () => rows.classList.remove("moving"));

  view.addEventListener("scroll", () => { paint(false); settle(); }, { passive: true });
  const searched = debounced(60, () => { view.scrollTop = 0; filter(); settle(); });
  search.addEventListener("input", searched);
  sort.addEventListener("change", () => { arrange(); view.scrollTop = 0; filter(); settle(); announce(`Sorted by ${ORDERS[sort.value]}.`); });
  addEventListener("resize", debounced(100, () => table && filter()), { signal });

  let latest = 0;

  /**
   * Show other estimates; the search, the order and the place stay. With tens of thousands of items this takes a tenth
   * of a second, so it is done in pieces, and the list changes when all of them are done.
   */
  async function show(estimates, truth = null) {
    latest += 1;
    for (const one of legend.querySelectorAll(".truth, .truly")) one.hidden = !truth;
    const turn = latest;
    const given = { ...estimates.items, users: estimates.n, named: estimates.named, truth };
    const size = given.item.length;
    let [text, lower] = [names, folded];
    const sameItems = size === names.length && label(given.item[0]) === names[0] && label(given.item.at(-1)) === names.at(-1);
    await breathe();
    if (!sameItems || given.partial) {
      text = given.item.map(label);
      lower = text.map((name) => name.toLowerCase());
      await breathe();
    }
    const { frequency } = given;
    const ranked = Uint32Array.from({ length: size }, (_, place) => place).sort((a, b) => frequency[b] - frequency[a] || a - b);
    const places = new Uint32Array(size);
    ranked.forEach((place, rank) => { places[place] = rank + 1; });
    await breathe();
    if (turn !== latest) return; // newer estimates are on their way
    [table, names, folded, best, ranks, unit] = [given, text, lower, ranked, places, estimates.std_error_share];
    scale = 0;
    for (const one of best.subarray(0, 50)) scale = Math.max(scale, table.share_high[one], table.raw[one] / table.users);
    scale = scale || 1;
    arrange();
    rows.classList.add("moving"); // bars move when their values change, and not when rows are used again
    still();
    filter();
    settle();
  }

  return { element, show };
}
