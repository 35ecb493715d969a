// A chart as a file: SVG, or PNG at twice its size. Both have the colours of the page as it is.

import { announce, h, s } from "./dom.js";

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-family", "text-anchor"];
const EDGE = 16;
const HEAD = 34;

/** Buttons that save what `draw()` gives, an SVG element, under this title. */
export function pictureButtons(title, draw) {
  const button = (kind) => h("button", { type: "button", class: "small", "aria-label": `Save the picture “${title}” as ${kind}`, async onclick() {
    const svg = draw();
    if (!svg) return;
    keep(kind === "SVG" ? new Blob([written(svg, title)], { type: "image/svg+xml" }) : await painted(svg, title), `${fileName(title)}.${kind.toLowerCase()}`);
  } }, kind);
  return h("span", { class: "pictures" }, h("span", { "aria-hidden": "true" }, "Picture: "), button("SVG"), button("PNG"));
}

const fileName = (title) => title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";

/** Let the browser keep a file with this name. */
export function keep(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  announce("The file is downloaded.");
}

/** The text of an SVG file: the chart below its title, with the looks that the style sheet gives it written down. */
function written(svg, part) {
  const title = [document.querySelector("h1")?.firstChild?.textContent.trim(), part].filter(Boolean).join(": ");
  const place = h("div", { class: "chart unseen" });
  const isShown = svg.isConnected;
  if (!isShown) document.body.append((place.append(svg), place));
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, number) => {
    const look = getComputedStyle(one);
    for (const name of LOOK) to[number].setAttribute(name, look.getPropertyValue(name));
    to[number].removeAttribute("class");
  });
  const page = getComputedStyle(document.documentElement);
  const [wide, tall] = [svg, svg].map((one, number) => Number(one.getAttribute(number ? "height" : "width")));
  if (!isShown) place.remove();
  const [width, height] = [wide + 2 * EDGE, tall + HEAD + EDGE];
  copy.setAttribute("x", EDGE);
  copy.setAttribute("y", HEAD);
  return new XMLSerializer().serializeToString(s("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    s("rect", { width, height, fill: page.getPropertyValue("--card").trim() }),
    s("text", { x: EDGE, y: 24, fill: page.getPropertyValue("--text").trim(), "font-size": "15px", "font-weight": "600", "font-family": page.fontFamily }, title),
    copy));
}

/** The same as PNG. */
async function painted(svg, title) {
  const url = URL.createObjectURL(new Blob([written(svg, title)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    await new Promise((done, failed) => {
      image.onload = done;
      image.onerror = () => failed(new Error("the picture cannot be drawn"));
      image.src = url;
    });
    const canvas = h("canvas", { width: image.width * 2, height: image.height * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  } finally {
    URL.revokeObjectURL(url);
  }
}
