// Bars with ranges, as SVG. Shares beyond the axis end at its edge, and ranges with an arrow.

const LOW = -0.2, HIGH = 0.7, LEFT = 78, ROW = 56;

/** @param {string} name @param {Record<string, string | number>} [attributes] @param {string} [text] */
function svg(name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** Where a share lies, in a picture of this width. */
const scale = (width) => (share) =>
  LEFT + ((Math.min(Math.max(share, LOW), HIGH) - LOW) / (HIGH - LOW)) * (width - 20 - LEFT);

function bar(kind, { share, low, high }, y, at) {
  const [from, to] = [at(Math.min(0, share)), at(Math.max(0, share))];
  const middle = y + 6;
  return [
    svg("rect", { class: kind, x: from, y, width: to - from, height: 12 }),
    svg("line", { class: kind, x1: at(low), x2: at(high), y1: middle, y2: middle }),
    ...[low, high].map((end) => svg("polyline", { class: kind, points: tip(end, at(end), middle) })),
  ];
}

/** The end of a range: a cap, or an arrow where it goes on beyond the axis. */
function tip(share, x, y) {
  const back = share > HIGH ? -5 : share < LOW ? 5 : 0;
  return `${x + back},${y - 5} ${x},${y} ${x + back},${y + 5}`;
}

/** The chart of all answers; `rows` have the name, the truth, the raw and the corrected share with their ranges. */
export function chart(rows, width, label) {
  const height = rows.length * ROW + 24, at = scale(width);
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (let share = LOW; share <= HIGH + 1e-9; share += width < 500 ? 0.2 : 0.1) {
    const x = at(share), zero = Math.abs(share) < 1e-9;
    drawn.append(svg("line", { class: zero ? "zero" : "grid", x1: x, x2: x, y1: 0, y2: height - 20 }));
    drawn.append(svg("text", { class: "quiet", x, y: height - 4, "text-anchor": "middle" }, `${Math.round(100 * share)}%`));
  }
  rows.forEach(({ answer, truth, raw, corrected }, i) => {
    const top = i * ROW + 8;
    drawn.append(svg("text", { x: 0, y: top + 26 }, answer), ...bar("raw", raw, top + 4, at), ...bar("corrected", corrected, top + 24, at));
    drawn.append(svg("line", { class: "truth", x1: at(truth), x2: at(truth), y1: top - 2, y2: top + 42 }));
  });
  return drawn;
}

/** What somebody can believe of one person: a bar for each answer. */
export function beliefs(rows, width, label) {
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${rows.length * 24}`, role: "img", "aria-label": label });
  rows.forEach(({ answer, share }, i) => {
    const y = i * 24, long = share * (width - LEFT - 50);
    drawn.append(svg("text", { x: 0, y: y + 16 }, answer), svg("rect", { class: "belief", x: LEFT, y: y + 4, width: long, height: 14 }));
    drawn.append(svg("text", { x: LEFT + long + 8, y: y + 16 }, `${Math.round(100 * share)}%`));
  });
  return drawn;
}
