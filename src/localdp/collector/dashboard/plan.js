// The page of one plan.

import { ask, response, sentence } from "./api.js";
import { bars, responsive } from "./charts.js";
import { announce, card, h, numbersTable } from "./dom.js";
import { historyCard } from "./history.js";
import { hittersCard } from "./hitters.js";
import { priorCard } from "./prior.js";
import { forgeryCard, privacyCard } from "./privacy.js";
import { ranking } from "./ranking.js";
import { snippetsCard } from "./snippets.js";
import { count, nextDay, percent, several, shortDay } from "./words.js";

const PAUSE = 3_000; // milliseconds between two looks at the number of reports
const SELDOM = 20_000; // milliseconds after which slow pictures are drawn anew
const PATIENCE = 5; // answers that take long are asked for so many times more rarely
const MOST_ITEMS = 300_000; // above that, only the most frequent items are fetched
const TOP = 1_000;

export async function planPage(root, name, lost) {
  const path = `/v1/plans/${name}`;
  const { signal } = root;
  root.append(h("p", { class: "note", role: "status" }, "Loading …"));
  let plan = await ask(path, { signal });
  const title = plan.title || `Plan ${plan.short.slice(0, 8)}`;
  document.title = `${title} · localdp`;

  const live = h("button", { type: "button", class: "live", "aria-pressed": "true", onclick() {
    const on = live.getAttribute("aria-pressed") !== "true";
    live.setAttribute("aria-pressed", String(on));
    live.textContent = on ? "Live" : "Paused";
    announce(on ? "The page follows new reports." : "The page stays as it is.");
  } }, "Live");
  live.title = "Follow new reports, or stay as it is";
  const download = h("button", { type: "button", onclick: () => saveCsv(path, plan).catch(lost) }, "Download CSV");
  const tiles = h("dl", { class: "tiles" });
  const sentences = h("div", { class: "sentences" });
  const shares = ranking(signal);
  const sharesCard = card("Shares", null, shares.element);
  sharesCard.classList.add("wide");
  const why = h("p", { class: "note" });
  sharesCard.append(why);
  const hitters = hittersCard(path, signal, lost);
  const history = historyCard(path, signal, lost);
  const prior = priorCard(path, signal, lost);
  const reports = reportsCard();
  const privacy = h("div", { class: "slot" });
  const forgery = h("div", { class: "slot" });
  const waiting = h("div", { class: "card empty wide", hidden: true });
  const results = h("div", { class: "slot", hidden: true }, sharesCard, hitters.element, history.element);
  const later = h("div", { class: "slot", hidden: true }, prior.element);

  root.replaceChildren(
    h("div", { class: "head" }, h("div", {}, h("h1", {}, title, " ", h("span", { class: `badge ${plan.state}` }, plan.state)),
      plan.question ? h("p", { class: "lead" }, plan.question) : null), h("div", { class: "actions" }, live, download)),
    tiles, sentences,
    h("div", { class: "cards" }, waiting, results, reports.element, privacy, forgery, later, snippetsCard(plan, await example(plan, signal))));

  function figures() {
    const { now } = plan.progress;
    const tile = (term, value, note) => h("div", { class: "tile" }, h("dt", {}, term), h("dd", {}, value, h("small", {}, note)));
    tiles.replaceChildren(
      tile("Reports", count(plan.reports), plan.last_day ? `the last on ${shortDay(plan.last_day)}` : "none yet"),
      tile("Standard error", now ? percent(now.std_error_share) : "–", now ? `of the users, ${count(now.std_error)} people` : "known with the first report"),
      tile("Smallest share seen", now?.visible_share ? percent(now.visible_share) : "–", now && !now.visible_share ? "more reports are needed" : "stands out 9 times out of 10"),
      tile("Privacy", `ε ${Number(plan.progress.epsilon.toFixed(3))}`, `${count(plan.size)} items, ${plan.mechanism}${plan.options.set_size ? `, up to ${count(plan.options.set_size)} each` : ""}`));
    sentences.replaceChildren(...plan.progress.sentences.map((one) => h("p", { class: "note" }, one)));
    privacy.replaceChildren(privacyCard(plan));
    forgery.replaceChildren(forgeryCard(plan));
    reports.show(plan.days);
    const { released } = plan.progress;
    results.hidden = later.hidden = !released;
    download.disabled = !released;
    waiting.hidden = released;
    if (!released) {
      const least = Math.max(plan.minimum, 1);
      const bar = h("span", { class: "fill" });
      bar.style.width = `${Math.min(1, plan.reports / least) * 100}%`;
      waiting.replaceChildren(h("h2", {}, plan.reports ? "Almost there" : "Waiting for the first report"),
        h("p", {}, `Shares are shown from ${several(least, "report")} on, and there ${plan.reports === 1 ? "is" : "are"} ${count(plan.reports)}. Choose “Try it” under “Send reports” to send 2,000 made-up ones.`),
        h("span", { class: "rail", "aria-hidden": "true" }, bar));
    }
  }

  async function estimates() {
    const few = plan.size <= MOST_ITEMS;
    const found = await ask(`${path}/estimates${few ? "" : `?top=${TOP}`}`, { signal });
    if (!few) found.items = { ...found.top.items, partial: true };
    await shares.show(found);
    why.replaceChildren(`Estimated from ${several(found.n, "report")}. `, `Intervals hold the true share with probability ${percent(found.level, 0.01)}. `,
      `Calibrated with the prior ${found.prior.fitted}. `, few ? "" : `The ${count(TOP)} most frequent items are shown. `,
      ...found.warnings.map((one) => h("span", { class: "warning" }, sentence(one))));
  }

  let seldom = 0; // when the slow pictures are due

  /** Ask for everything that depends on the counts, and say how long that took. */
  async function refresh() {
    const began = performance.now();
    figures();
    if (plan.progress.released) {
      await estimates();
      hitters.arrived(plan);
      if (began >= seldom) {
        seldom = began + SELDOM;
        await Promise.all([history.update(plan), prior.update()]);
      }
    }
    return performance.now() - began;
  }

  let next = performance.now() + PATIENCE * (await refresh());
  let shown = plan.counted;
  let failed = false;

  async function look() {
    if (!document.hidden && live.getAttribute("aria-pressed") === "true") {
      try {
        plan = await ask(path, { signal });
        if (failed) root.querySelector(".error")?.remove();
        failed = false;
        figures();
        if (plan.counted !== shown && performance.now() >= next) {
          shown = plan.counted;
          next = performance.now() + PATIENCE * (await refresh());
        }
      } catch (error) {
        if (!failed) lost(error);
        failed = true;
      }
    }
    if (!signal.aborted) setTimeout(look, PAUSE);
  }
  setTimeout(look, PAUSE);
}

/** Reports by day, or by week if there are many days. */
function reportsCard() {
  let days = [];
  let before = "";
  const picture = h("div", { class: "chart" });
  const table = h("div");
  const element = card("Reports over time", null, picture, table);
  const paint = responsive(picture, (width) => (days.length ? bars(width, 200, {
    name: `Reports by ${days[0].weekly ? "week" : "day"}, ${several(days.reduce((sum, one) => sum + one.reports, 0), "report")} in all`,
    values: days.map((one) => one.reports),
    labels: days.map((one) => shortDay(one.day)),
    titles: days.map((one) => `${shortDay(one.day)}: ${several(one.reports, "report")}`),
    format: count,
  }) : h("p", { class: "nothing" }, "No reports yet.")));
  function show(given) {
    const now = JSON.stringify(given);
    if (now === before) return;
    before = now;
    days = given.length > 90 ? weekly(given) : everyDay(given);
    paint();
    const kept = table.firstChild?.open;
    table.replaceChildren(numbersTable(["day", "reports", "look forged"], days.map((one) => [shortDay(one.day), count(one.reports), count(one.suspect)]), "Reports by day"));
    if (kept) table.firstChild.open = true;
    table.hidden = !days.length;
  }
  return { element, show };
}

/** Days without reports are there too, so that gaps are seen. */
function everyDay(given) {
  const made = [];
  for (const one of given) {
    while (made.length && made.at(-1).day < nextDay(one.day, -1) && made.length < 400) made.push({ day: nextDay(made.at(-1).day), reports: 0, suspect: 0 });
    made.push(one);
  }
  return made;
}

function weekly(given) {
  const made = new Map();
  for (const one of given) {
    const monday = nextDay(one.day, -((new Date(`${one.day}T00:00:00Z`).getUTCDay() + 6) % 7));
    const week = made.get(monday) ?? { day: monday, reports: 0, suspect: 0, weekly: true };
    week.reports += one.reports;
    week.suspect += one.suspect;
    made.set(monday, week);
  }
  return [...made.values()];
}

/** An item of the plan, for the snippets. */
async function example(plan, signal) {
  const document = await (await fetch(`/v1/plans/${plan.fingerprint}/document`, { signal })).json();
  return document.domain.items ? document.domain.items[0] : 0;
}

async function saveCsv(path, plan) {
  const data = await (await response(`${path}/estimates?format=csv`)).blob();
  const url = URL.createObjectURL(data);
  const day = new Date().toISOString().slice(0, 10);
  h("a", { href: url, download: `${plan.short}-${day}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  announce("The file is downloaded.");
}
