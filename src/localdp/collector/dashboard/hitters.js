// The threshold and the answers above it, each with the probability that it really is.

import { ask } from "./api.js";
import { card, debounced, h } from "./dom.js";
import { hint } from "./help.js";
import { asked, chance, count, label, percent, several } from "./words.js";

const STEPS = 200;
const SHOWN = 60;

export function hittersCard(path, signal, lost) {
  let reports = 0;
  let low = 0.001;
  let pending = null;
  let touched = false;
  const high = 0.5;
  const share = () => low * (high / low) ** (Number(slider.value) / STEPS);
  const slider = h("input", { type: "range", id: "threshold", min: 0, max: STEPS, step: 1, value: 60, oninput: () => { touched = true; moved(); } });
  const output = h("output", { for: "threshold", class: "big" });
  const summary = h("p", { class: "note", role: "status" });
  const list = h("ol", { class: "hitters", tabindex: 0 });
  const element = card("Popular answers",
    ["Answers that more people give than the threshold says, each with the probability that it really is above it.", hint("hitter")],
    h("div", { class: "slider" }, h("label", { for: "threshold" }, "Threshold"), slider, output), list, summary);
  element.classList.add("hitting");

  function moved() {
    const users = Math.round(share() * reports);
    output.textContent = `${percent(share())} of the people (${count(users)})`;
    slider.setAttribute("aria-valuetext", output.textContent);
    soon();
  }

  const soon = debounced(120, update);

  async function update() {
    pending?.abort();
    pending = new AbortController();
    const both = AbortSignal.any([pending.signal, signal]);
    element.setAttribute("aria-busy", "true");
    try {
      show((await ask(`${path}/estimates?threshold=${encodeURIComponent(asked(share()))}`, { signal: both })).hitters);
    } catch (error) {
      if (error.name === "AbortError") return; // another threshold is on its way
      lost(error);
    }
    element.removeAttribute("aria-busy");
  }

  function show({ items }) {
    const places = items.item.map((_, place) => place);
    list.replaceChildren(...places.slice(0, SHOWN).map((place) => {
      const sure = h("span", { class: "sure" });
      sure.style.width = `${items.probability[place] * 100}%`;
      return h("li", {},
        h("span", { class: "item" }, label(items.item[place])),
        h("span", { class: "share" }, percent(items.share[place], items.share[place] / 100)),
        h("span", { class: "probability" }, h("span", { class: "rail", "aria-hidden": "true" }, sure), h("span", {}, chance(items.probability[place]))));
    }));
    const more = places.length > SHOWN ? ` The first ${SHOWN} are shown.` : "";
    summary.textContent = places.length ? `${several(places.length, "answer")} above ${percent(share())}.${more}`
      : `No answer is likely to be above ${percent(share())}. Move the threshold to the left.`;
  }

  /** New reports have come, or these are the first. The threshold follows them until somebody moves it. */
  function arrived(plan) {
    reports = plan.counted;
    if (!touched) {
      // From half a standard error on: further below, the answer is a guess.
      low = Math.min(Math.max(plan.progress.now.std_error_share / 2, 1 / reports), 0.05);
      const seen = plan.progress.now.visible_share ?? 0.1;
      slider.value = Math.round(STEPS * Math.log(Math.min(seen, high) / low) / Math.log(high / low));
    }
    moved();
  }

  return { element, arrived };
}
