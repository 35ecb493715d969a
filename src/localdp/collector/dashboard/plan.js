// The results of a survey that asks everybody one question.

import { ask, save, sentence } from "./api.js";
import { reportsCard } from "./arrivals.js";
import { changesCard } from "./changes.js";
import { announce, card, forStatisticians, h, refill } from "./dom.js";
import { follow, head, loaded, showTiles, tile } from "./head.js";
import { guide, hint } from "./help.js";
import { historyCard } from "./history.js";
import { hittersCard } from "./hitters.js";
import { kindOf } from "./kinds.js";
import { FEW, priorCard } from "./prior.js";
import { forgeryCard, privacyCard } from "./privacy.js";
import { truthOf, tryIt } from "./trying.js";
import { count, percent, several, shortDay, waitingNote } from "./words.js";

const PAUSE = 3_000; // milliseconds between two looks at the number of reports
const SELDOM = 20_000; // milliseconds after which slow pictures are drawn anew
const PATIENCE = 5; // answers that take long are asked for so many times more rarely, but not in a trial, which one person watches
const MOST_ITEMS = 300_000; // above that, only the most frequent items are fetched
const TOP = 1_000;
const REST = "(rest)"; // as the collector calls the reports that belong to no segment
const FULL = 0.7; // the share of the items of a set that count from which on larger sets are likely

const named = (segment) => (segment === REST ? "people without a label" : segment);

export async function planPage(root, lost, place, name) {
  const path = `/v1/plans/${name}`;
  const { signal } = root;
  let plan = await loaded(root, path);

  const live = h("button", { type: "button", class: "live", "aria-pressed": "true", onclick() {
    const on = live.getAttribute("aria-pressed") !== "true";
    live.setAttribute("aria-pressed", String(on));
    live.textContent = on ? "Live" : "Paused";
    announce(on ? "The page follows new reports." : "The page stays as it is.");
  } }, "Live");
  live.title = "Follow new reports, or stay as it is";
  const download = h("button", { type: "button", onclick: () => save(`${path}/estimates?${query("format=csv")}`, `${plan.short}-${new Date().toISOString().slice(0, 10)}.csv`).catch(lost) }, "Download CSV");
  const tiles = h("dl", { class: "tiles" });
  const sentences = h("div", { class: "sentences" });
  const kind = kindOf(plan);
  const shares = kind.picture(signal);
  const chosen = choices();
  const why = h("p", { class: "note", role: "status" }, "Estimating …");
  const learnt = h("div");
  const sharesCard = card("Shares", null, chosen.element, shares.element, why, learnt);
  sharesCard.classList.add("wide");
  const hitters = hittersCard(path, signal, lost);
  const history = historyCard(path, signal, lost);
  const changes = changesCard(path, signal, lost);
  const prior = priorCard(path, signal, lost);
  const fits = kind.named && plan.size >= FEW; // a histogram of a handful of items says nothing
  const reports = reportsCard();
  const privacy = h("div", { class: "slot" });
  const forgery = h("div", { class: "slot" });
  const waiting = h("div", { class: "card empty wide", hidden: true });
  const results = h("div", { class: "slot", hidden: true }, sharesCard, kind.named ? hitters.element : null, changes.element, history.element);
  const later = h("div", { class: "slot", hidden: true }, fits ? prior.element : null);

  root.replaceChildren(head(root, place, name, plan, "", live, download), tiles, sentences,
    h("div", { class: "cards" }, waiting, results, reports.element, privacy, forgery, later));

  /** Whose shares, and of which days. */
  function choices() {
    const segment = h("select", { "aria-label": "Whose shares" }, h("option", { value: "" }, "everybody"), [...plan.segments, REST].map((label) => h("option", { value: label }, named(label))));
    const day = (name) => h("input", { type: "date", "aria-label": name, min: plan.first_day, max: plan.last_day });
    const [from, to] = [day("From day"), day("To day")];
    const some = h("details", { class: "days" }, h("summary", {}, "Only some days"), h("div", { class: "tools" }, h("span", {}, "From "), from, h("span", {}, "to "), to));
    const element = h("div", { class: "tools" }, plan.segments.length ? h("label", { class: "inline" }, "Shares of ", segment) : null, plan.first_day === plan.last_day ? null : some);
    element.addEventListener("change", () => { why.replaceChildren("Estimating … the numbers above are those of before."); estimates().catch(lost); });
    return { element, segment, from, to };
  }

  const query = (...more) => [...more, ...(chosen.from.value ? [`from=${chosen.from.value}`] : []), ...(chosen.to.value ? [`to=${chosen.to.value}`] : []),
    ...(chosen.segment.value ? ["by=segment"] : [])].join("&");

  function figures() {
    const { now } = plan.progress;
    showTiles(tiles,
      tile("Reports", count(plan.reports), plan.last_day ? `the last on ${shortDay(plan.last_day)}` : "none yet", "report"),
      ...(now || !plan.reports ? [
        tile("Standard error", now ? percent(now.std_error_share) : "–", now ? `of a rare answer, ${several(now.std_error, "person").replace("persons", "people")}` : "known with the first report", "error"),
        tile("Smallest share seen", now?.visible_share ? percent(now.visible_share) : "–", now && !now.visible_share ? "more reports are needed" : "stands out 9 times out of 10", "visible"),
      ] : []),
      tile("Privacy", `ε ${Number(plan.progress.epsilon.toFixed(3))}`, `${several(plan.size, "answer")}${plan.options.set_size ? `, up to ${count(plan.options.set_size)} each` : ""}`, "epsilon"));
    refill(sentences, forStatisticians(...plan.progress.sentences));
    refill(privacy, privacyCard(plan));
    if (plan.progress.fake_users || !plan.reports) refill(forgery, forgeryCard(plan, `#/${place}/${name}/uploads`));
    reports.show(plan.days);
    const { released } = plan.progress;
    results.hidden = later.hidden = !released;
    history.element.hidden = plan.first_day === plan.last_day; // one day has no history
    download.disabled = !released;
    waiting.hidden = released;
    if (!released) {
      const least = Math.max(plan.minimum, 1);
      const bar = h("span", { class: "fill" });
      bar.style.width = `${Math.min(1, plan.reports / least) * 100}%`;
      refill(waiting, h("h2", {}, plan.reports ? "Waiting for more reports" : "Waiting for the first report"),
        h("p", {}, `Shares are shown from ${several(least, "report")} on, and there ${plan.reports === 1 ? "is" : "are"} ${count(plan.reports)}.`, hint("minimum")),
        h("span", { class: "rail", "aria-hidden": "true" }, bar), ...(plan.reports || plan.trial_of ? [] : [guide(1)]),
        h("div", { class: "actions" }, h("a", { class: plan.trial_of ? "button" : "button main", href: `#/${place}/${name}/send` }, "Send reports"),
          plan.trial_of || plan.draft ? null : h("button", { type: "button", onclick: () => tryIt(plan).then(root.go).catch(lost) }, "Try it")));
    }
  }

  let latest = 0;
  async function estimates() {
    const turn = (latest += 1);
    const few = plan.size <= MOST_ITEMS;
    let found;
    try {
      found = await ask(`${path}/estimates?${query(...(few ? [] : [`top=${TOP}`]))}`, { signal });
    } catch (error) {
      if (turn !== latest) return; // somebody has chosen other days or people meanwhile
      if (error.status !== 409 && error.status !== 422) throw error;
      why.replaceChildren(h("span", { class: "warning" }, error.message, " The numbers above are those of before."));
      return;
    }
    if (turn !== latest) return;
    if (chosen.segment.value) found = found.segments[chosen.segment.value];
    if (!found) {
      why.replaceChildren(h("span", { class: "warning" }, `Too few reports of ${named(chosen.segment.value)} are there to be shown: the numbers above are those of before.`));
      return;
    }
    if (!few) found.items = { ...found.top.items, partial: true };
    await shares.show(found, plan.trial_of && !query() ? truthOf(plan)?.[""] : null);
    if (turn !== latest) return;
    why.replaceChildren(kind.lists ? "" : `Answers are ${plan.asks_for}. `, `Estimated from ${several(found.n, "report")}. `, waitingNote(found.released.held_back), `Intervals hold the true share with probability ${percent(found.level, 0.01)}. `,
      query() ? "The cards below speak of everybody and of all days. " : "",
      few ? "" : `The ${count(TOP)} most frequent answers are shown. `,
      ...[...found.warnings, ...largeSets(found)].map((one) => h("span", { class: "warning" }, sentence(one))));
    if (found.prior) refill(learnt, forStatisticians(`Calibrated with the prior ${found.prior.fitted}.`, ...found.notes.map(sentence)));
  }

  /** Whether people seem to hold more items than count. */
  function largeSets({ items, n }) {
    const most = plan.options.set_size;
    const held = most && items.raw ? items.raw.reduce((sum, one) => sum + one, 0) / n : 0;
    return held > FULL * most && !items.partial
      ? [`people give ${held.toFixed(1)} of at most ${most} answers that count, so some of them probably hold more; all they give then counts for less. A survey with a larger limit would tell`] : [];
  }

  let seldom = 0; // when the slow pictures are due

  /** Ask for everything that depends on the counts, and say how long that took. */
  async function refresh() {
    const began = performance.now();
    figures();
    if (plan.progress.released) {
      await estimates();
      if (kind.named) hitters.arrived(plan);
      if (began >= seldom) {
        seldom = began + SELDOM;
        await Promise.all([plan.first_day === plan.last_day ? null : history.update(plan), changes.update(plan), fits ? prior.update() : null]);
      }
    }
    return performance.now() - began;
  }

  const patience = plan.trial_of ? 1 : PATIENCE;
  let next = performance.now() + patience * (await refresh());
  let shown = plan.counted;
  follow(root, lost, PAUSE, async () => {
    if (live.getAttribute("aria-pressed") !== "true") return;
    plan = await ask(path, { signal });
    figures();
    if (plan.counted === shown || performance.now() < next) return;
    shown = plan.counted;
    next = performance.now() + patience * (await refresh());
  });
}
