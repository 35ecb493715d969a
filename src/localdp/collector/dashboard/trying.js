// Trials: a survey is tried apart from the real one, with made-up people, and thrown away when the real one begins.

import { ask, change, tell } from "./api.js";
import { announce, h } from "./dom.js";
import { placeOf } from "./head.js";
import { cellsOf } from "./kinds.js";
import { several } from "./words.js";

const PEOPLE = 500; // made-up people at once
const IN_A_ROUND = 200; // and in each round: most devices that are made are asked in another one, which takes time
const AT_ONCE = 8; // of them who send at the same time
const IN_ROUNDS = ["discovery", "sets"];

/** Make a trial of a survey: where it is. */
export const tryIt = async (study) => placeOf(await tell(`/v1/studies/${study.id}/trial`, {}));

/** What can be done with a trial, or with a survey that has not begun; nothing for others. */
export function trialBar(root, study, place) {
  if (!study.trial_of && !study.draft) return null;
  const said = h("p", { role: "status" });
  const actions = h("div", { class: "actions" });
  const act = (text, work, look = "") => h("button", { type: "button", class: look, async onclick({ currentTarget: pressed }) {
    for (const one of actions.children) one.disabled = true;
    try {
      await work();
    } catch (error) {
      said.textContent = error.status === 403 ? "This needs an admin token." : error.message;
    } finally {
      for (const one of actions.children) one.disabled = false;
      if (document.activeElement === document.body) pressed.focus(); // a button that is disabled loses the focus
    }
  } }, text);
  const begin = (id) => act("Begin for real", async () => {
    const begun = await (await change("POST", `/v1/studies/${id}/begin`)).json();
    announce("The survey has begun, and its trials are gone.");
    root.go(placeOf(begun));
  }, "main");
  const sent = async () => {
    await (IN_ROUNDS.includes(study.kind) ? playRounds : madeUp)(study, place, root.signal, (text) => { said.textContent = text; });
    announce(said.textContent);
  };
  actions.append(...(study.trial_of ? [
    study.state === "done" ? "" : act(IN_ROUNDS.includes(study.kind) ? "Play all rounds with made-up people" : `Send ${PEOPLE} made-up answers`, sent), begin(study.trial_of),
    act("Throw away", async () => { await change("DELETE", `/v1/studies/${study.id}`); root.go("#/"); }),
  ] : [act("Try it", async () => root.go(await tryIt(study))), begin(study.id)]));
  return h("div", { class: "card trial" },
    h("p", {}, study.trial_of ? h("b", {}, "This is a trial. ") : h("b", {}, "This survey has not begun. "),
      study.trial_of ? "Nothing in it ever mixes with the real survey, and it is thrown away when that begins." : "It takes no reports yet. Try it with made-up people, or begin."),
    actions, said);
}

const any = (some) => some[Math.floor(Math.random() * some.length)];
/** One of a list: the earlier, the more often. */
const early = (some) => some[Math.floor(some.length * Math.random() ** 2)];
const few = (some, most) => [...new Set(Array.from({ length: Math.floor(Math.random() * (most + 1)) }, () => early(some)))];
const itemsOf = ({ items, size }) => items ?? Array.from({ length: size }, (_, place) => place);
/** A number, most often in the middle; a whole one where these are asked for, so that the highest is as frequent as the lowest. */
const onScale = ({ low, high, step }) => {
  const middle = (Math.random() + Math.random()) / 2;
  return step === 1 && Number.isInteger(low) ? low + Math.floor((high - low + 1) * middle) : low + (high - low) * middle;
};
const WORDS = ["soup", "soup", "soup", "pasta", "pasta", "curry", "rice", "salad"];

/** An answer of somebody who does not exist, given the document of a plan or of another study. */
function answer(document) {
  const { question, domain, questions, values, parameters = {}, set_size: most = parameters.set_size } = document;
  if (questions) return Object.fromEntries(questions.map(({ name, ...one }) => [name, answer(one)]));
  if (values) return values.kind === "text" ? any(WORDS) : Math.floor(Math.random() * 4);
  if (question?.low !== undefined) return onScale(question);
  return most || document.shares ? few(itemsOf(domain), most ?? 3) : early(itemsOf(domain));
}

/** What made-up people answered to a trial in this tab: shares by question, "" if there is one alone; null if none did. */
export function truthOf(study) {
  let kept = null;
  try { kept = sessionStorage.getItem(`made-up ${study.id}`); } catch { /* storage is blocked */ }
  const { people, given } = JSON.parse(kept) ?? {};
  return people ? Object.fromEntries(Object.entries(given).map(([name, cells]) => [name, Object.fromEntries(Object.entries(cells).map(([cell, number]) => [cell, number / people]))])) : null;
}

/** Count what made-up people answered. */
function counted(form, values, { people, given } = { people: 0, given: {} }) {
  for (const value of values) {
    for (const one of form.questions ?? [form]) {
      const held = [form.questions ? value[one.name] : value].flat();
      const own = (given[one.name ?? ""] ??= {});
      for (const item of held) {
        const cell = one.question?.low === undefined ? String(item) : cellsOf(one).findLast(([start]) => start <= item)[1];
        own[cell] = (own[cell] ?? 0) + 1;
      }
    }
  }
  return { people: people + values.length, given };
}

/** Let people who do not exist answer a trial, each with a device of their own; in rounds, those whom the part under way asks. */
async function madeUp(study, place, signal, say, round = "", part = null) {
  const { Client, memoryStore } = await import("/client/index.js");
  const address = `${location.origin}/v1/${place === "plan" ? "plans" : "studies"}/${place === "plan" ? study.fingerprint : study.id}`;
  const text = await (await fetch(`${address}/document`)).text();
  const document = JSON.parse(text);
  const key = `made-up ${study.id}`;
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(key)); } catch { /* storage is blocked: then the truth is not shown */ }
  const all = part ? IN_A_ROUND : PEOPLE;
  const [first, end] = part ? spanOf(document, JSON.parse(part)) : [];
  let left = all;
  const people = async () => {
    while (left > 0 && !signal.aborted) {
      left -= 1;
      const client = new Client(text, { store: memoryStore(), upload: location.origin, mostEpsilon: 16, most: 16, mostItems: 1e7, mostReportBytes: 1 << 20 });
      const at = part && (await client.place());
      if (part && (at < first || at >= end)) {
        client.close();
        left += 1;
        continue;
      }
      const value = answer(document);
      await client.send(value, part ?? undefined);
      client.close();
      kept = counted(document, [value], kept ?? undefined);
      try { sessionStorage.setItem(key, JSON.stringify(kept)); } catch { /* as above */ }
      if (left % 50 === 0) say(`${round}${several(all - left, "answer")} sent …`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, people));
  say(`${round}${several(all - left, "answer")} sent.`);
}

/** The places of the devices that a round asks: its document tells them, or that of the survey of sets. */
const spanOf = ({ shares }, { round, from, to }) => (shares ? [round, round + 1].map((end) => shares.slice(0, end).reduce((sum, one) => sum + one, 0)) : [from, to]);

/** Let made-up people answer round by round, until all rounds are over. */
async function playRounds(study, place, signal, say) {
  const path = `/v1/studies/${study.id}`;
  while (!signal.aborted) {
    const { state, parts } = await ask(path, { signal });
    if (state !== "open") break;
    const part = await (await fetch(`${path}/part`, { signal })).text();
    await madeUp(study, place, signal, say, `Round ${parts.length}: `, part);
    if (!signal.aborted) await change("POST", `${path}/advance?part=${parts.at(-1).key}`);
  }
  say("All rounds are over.");
}
