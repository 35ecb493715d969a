// The results of one survey in a frame of another page. The token is in the address behind "#", and nowhere else.

import { ask, useToken } from "./api.js";
import { h } from "./dom.js";
import { titleOf } from "./head.js";
import { cardsOf } from "./report.js";
import { several, useLabels } from "./words.js";

const PAUSE = 300_000; // milliseconds after which it is asked for anew
const main = document.getElementById("main");

async function show() {
  try {
    useToken(location.hash.slice(1));
    const { plan } = await ask("/v1/token");
    const study = await ask(`/v1/studies/${plan}`);
    useLabels(study.labels);
    document.title = titleOf(study);
    const { n, cards } = await cardsOf(study);
    main.replaceChildren(h("article", { class: "report" }, h("h1", {}, titleOf(study)), study.question ? h("p", { class: "lead" }, study.question) : null, ...cards,
      h("p", { class: "note" }, `Estimated from ${several(n, "private report")}; intervals hold 9 times out of 10. Made with localdp.`)));
  } catch (error) {
    main.replaceChildren(h("p", { class: "warning" }, error.status === 401 ? "This link is no longer valid." : error.message));
  }
}

show();
setInterval(show, PAUSE);
