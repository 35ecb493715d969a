// A short list of answers, each with its share as a bar and its interval.

import { h } from "./dom.js";
import { percent } from "./words.js";

/** Rows of `name`, `share`, and where they are known `low` and `high`; `note` is said below a name. */
export function shareList(rows, unit = 0.001) {
  const most = Math.max(...rows.map((row) => Math.max(row.high ?? row.share, row.truth ?? 0)), 1e-9);
  return h("ul", { class: "answers" }, rows.map((row) => {
    const bar = h("span", { class: "bar" });
    const span = h("span", { class: "span", hidden: row.high === undefined });
    const dot = h("span", { class: "dot" });
    bar.style.width = dot.style.left = `${(row.share / most) * 100}%`;
    if (row.high !== undefined) {
      span.style.left = `${(row.low / most) * 100}%`;
      span.style.right = `${(1 - row.high / most) * 100}%`;
    }
    return h("li", {}, h("span", { class: "item" }, row.name, row.note ? h("small", {}, row.note) : null),
      h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "rail" }, bar, span, dot, row.truth === undefined ? null : truthMark(row.truth / most))),
      h("span", { class: "share" }, percent(row.share, unit)),
      h("span", { class: "interval" }, row.high === undefined ? "" : between(row, unit)));
  }));
}

/** Where the made-up truth of a trial is, from 0 to 1. */
export function truthMark(at) {
  const mark = h("span", { class: "truth" });
  mark.style.left = `${Math.min(at, 1) * 100}%`;
  return mark;
}

/** An interval in figures. */
export const between = ({ low, high }, unit = 0.001) => `${percent(low, unit)} – ${percent(high, unit)}`;

/** Rows for `shareList` and for `shareBars`, from columns of an answer. */
export const rowsOf = (names, { share, low, high }, notes = []) => names.map((name, place) => ({
  name, share: share[place], low: low?.[place], high: high?.[place], note: notes[place], text: percent(share[place], 0.001),
  title: low ? `${name}: ${percent(share[place], 0.001)}, between ${between({ low: low[place], high: high[place] })}` : name,
}));
