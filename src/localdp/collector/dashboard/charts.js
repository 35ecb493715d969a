// Charts in SVG, drawn for the width that there is. Colours come from the style sheet, by class.

import { s } from "./dom.js";

/** An element that draws its chart whenever its width changes. `draw(width)` gives the SVG element. */
export function responsive(place, draw) {
  let width = 0;
  const paint = () => {
    if (width > 0) place.replaceChildren(draw(width));
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now !== width) {
      width = now;
      paint();
    }
  }).observe(place);
  return paint;
}

/** Round numbers from 0 to at least `most`, about `wanted` of them. */
function ticks(most, wanted = 4) {
  const rough = most / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let k = 0; k * step <= most * 1.0001 + step * 0.999; k += 1) found.push(k * step);
  return found;
}

/** The frame of a chart: horizontal lines with their labels, and the functions that place values. */
export function frame(width, height, top, name, format) {
  const left = Math.max(...top.map((tick) => format(tick).length)) * 8 + 14;
  const inner = { left, right: width - 8, top: 10, bottom: height - 26 };
  const most = top.at(-1) || 1;
  const y = (value) => inner.bottom - (value / most) * (inner.bottom - inner.top);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name });
  for (const tick of top) {
    svg.append(s("line", { class: tick ? "grid" : "axis", x1: left, x2: inner.right, y1: y(tick), y2: y(tick) }));
    svg.append(s("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick)));
  }
  return { svg, inner, y };
}

/** Labels below a chart, so many that they do not touch. */
export function below(svg, inner, height, labels, x) {
  const room = Math.max(1, Math.floor((inner.right - inner.left) / 64));
  const every = Math.max(1, Math.ceil(labels.length / room));
  labels.forEach((text, place) => {
    if ((labels.length - 1 - place) % every) return;
    const at = Math.min(x(place), inner.right - text.length * 3.2);
    svg.append(s("text", { class: "tick", x: at, y: height - 6, "text-anchor": "middle" }, text));
  });
}

/** Bars, with a title for each that shows when the pointer rests on it, and with intervals where `low` and `high` are given. */
export function bars(width, height, { name, values, labels, titles, format, low = null, high = null, curve = null, marks = null, top = null }) {
  const highest = Math.max(...values, ...(high ?? []), ...(curve ?? []), ...(marks ?? []), 0);
  const { svg, inner, y } = frame(width, height, top ?? ticks(highest || 1), name, format);
  const step = (inner.right - inner.left) / Math.max(values.length, 1);
  const thin = Math.min(step * 0.78, 46);
  const x = (place) => inner.left + (place + 0.5) * step;
  values.forEach((value, place) => {
    const tall = Math.max(inner.bottom - y(value), value > 0 ? 1 : 0);
    svg.append(s("rect", { class: "bar", x: x(place) - thin / 2, y: inner.bottom - tall, width: thin, height: tall, rx: Math.min(3, thin / 4) },
      s("title", {}, titles[place])));
    if (high) svg.append(s("line", { class: "whisker", x1: x(place), x2: x(place), y1: y(low[place]), y2: y(high[place]) }));
  });
  marks?.forEach((value, place) => svg.append(s("circle", { class: "point c3", cx: x(place), cy: y(value), r: 4.5 }, s("title", {}, `Made-up truth: ${format(value)}`))));
  if (curve) svg.append(s("polyline", { class: "curve", points: curve.map((value, place) => `${x(place)},${y(value)}`).join(" ") }));
  below(svg, inner, height, labels, x);
  return svg;
}

/** A name as text that ends with "…" where there is no room, and is whole in a title. */
export function named(name, { width, ...place }) {
  const room = Math.max(4, Math.floor(width / 7.2));
  return s("text", { class: "tick", ...place }, name.length > room ? `${name.slice(0, room - 1)}…` : name, s("title", {}, name));
}

/** Shares as horizontal bars with intervals: rows of `name`, `share`, `low` and `high`. Names that are too long end with "…", and are whole in a title. */
export function shareBars(width, rows, name) {
  const narrow = width < 480; // then a name has a line of its own
  const ROW = narrow ? 48 : 28;
  const words = narrow ? 0 : Math.min(width * 0.38, Math.max(...rows.map((row) => row.name.length), 4) * 7.4 + 14);
  const most = Math.max(...rows.map((row) => row.high ?? row.share), 1e-9);
  const [left, right] = [words, width - 66];
  const x = (share) => left + (Math.max(share, 0) / most) * (right - left);
  const height = rows.length * ROW + 8;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name });
  rows.forEach((row, place) => {
    const y = place * ROW + ROW / 2 + (narrow ? 12 : 4);
    svg.append(named(row.name, narrow ? { x: 0, y: y - 14, width } : { x: words - 10, y: y + 4, "text-anchor": "end", width: words - 12 }));
    svg.append(s("rect", { class: "bar", x: left, y: y - 8, width: Math.max(x(row.share) - left, 1), height: 16, rx: 3 }, s("title", {}, row.title ?? row.name)));
    if (row.high !== undefined) svg.append(s("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y }));
    svg.append(s("text", { class: "tick", x: width - 4, y: y + 4, "text-anchor": "end" }, row.text));
  });
  return svg;
}

/** Lines with bands: each series has `middle`, `low` and `high`, with null where nothing is known. */
export function lines(width, height, { name, series, labels, format, emphasised, point }) {
  const shown = series.flatMap((one) => [...one.middle, ...(one === series[emphasised] ? one.high : [])]);
  const { svg, inner, y } = frame(width, height, ticks(Math.max(...shown.filter((value) => value !== null), 0) || 1), name, format);
  const step = (inner.right - inner.left - 12) / Math.max(labels.length - 1, 1);
  const x = (place) => (labels.length === 1 ? (inner.left + inner.right) / 2 : inner.left + 6 + place * step);
  series.forEach((one, number) => {
    const stretches = known(one.middle);
    if (number === emphasised) {
      for (const places of stretches) {
        const up = places.map((place) => `${x(place)},${y(one.high[place])}`);
        const down = places.toReversed().map((place) => `${x(place)},${y(one.low[place])}`);
        svg.append(s("polygon", { class: `band c${number}`, points: [...up, ...down].join(" ") }));
      }
    }
    for (const places of stretches) {
      svg.append(s("polyline", { class: `line c${number}${number === emphasised ? " strong" : ""}`, points: places.map((place) => `${x(place)},${y(one.middle[place])}`).join(" ") }));
      if (places.length === 1 || labels.length <= 10) {
        for (const place of places) svg.append(s("circle", { class: `point c${number}`, cx: x(place), cy: y(one.middle[place]), r: 3 }));
      }
    }
  });
  below(svg, inner, height, labels, x);
  const mark = s("line", { class: "mark", y1: inner.top, y2: inner.bottom, x1: -9, x2: -9 });
  svg.append(mark);
  const at = (place) => {
    mark.setAttribute("x1", x(place));
    mark.setAttribute("x2", x(place));
    point(place);
  };
  svg.addEventListener("pointermove", (event) => {
    const place = Math.round((event.clientX - svg.getBoundingClientRect().left - x(0)) / step);
    at(Math.min(labels.length - 1, Math.max(0, labels.length === 1 ? 0 : place)));
  });
  svg.addEventListener("pointerleave", () => {
    mark.setAttribute("x1", -9);
    mark.setAttribute("x2", -9);
    point(null);
  });
  return svg;
}

/** The stretches of places that have values. */
function known(values) {
  const found = [];
  let open = null;
  values.forEach((value, place) => {
    if (value === null) open = null;
    else if (open) open.push(place);
    else found.push((open = [place]));
  });
  return found;
}
