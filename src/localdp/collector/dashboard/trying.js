// Trials: a survey is tried apart from the real one, with made-up people, and thrown away when the real one begins.

import { change, tell } from "./api.js";
import { announce, h } from "./dom.js";
import { placeOf } from "./head.js";
import { cellsOf } from "./kinds.js";
import { several } from "./words.js";

const PEOPLE = 500; // made-up people at once
const AT_ONCE = 8; // of them who send at the same time

/** Make a trial of a survey, and go there. */
export async function tryIt(study) {
  location.hash = placeOf(await tell(`/v1/studies/${study.id}/trial`, {}));
}

/** What can be done with a trial, or with a survey that has not begun; nothing for others. */
export function trialBar(study, place, name) {
  if (!study.trial_of && !study.draft) return null;
  const said = h("p", { role: "status" });
  const act = (text, work, look = "") => {
    const button = h("button", { type: "button", class: look, async onclick() {
      button.disabled = true;
      try {
        await work();
      } catch (error) {
        said.textContent = error.status === 403 ? "This needs an admin token." : error.message;
      } finally {
        button.disabled = false;
      }
    } }, text);
    return button;
  };
  const again = () => dispatchEvent(new HashChangeEvent("hashchange"));
  const begin = (id) => act("Begin for real", async () => {
    const begun = await (await change("POST", `/v1/studies/${id}/begin`)).json();
    announce("The survey has begun, and its trials are gone.");
    location.hash = placeOf(begun);
    if (id === study.id) again();
  }, "main");
  return h("div", { class: "card trial" },
    h("p", {}, study.trial_of ? h("b", {}, "This is a trial. ") : h("b", {}, "This survey has not begun. "),
      study.trial_of ? "Nothing in it ever mixes with the real survey, and it is thrown away when that begins." : "It takes no reports yet. Try it with made-up people, or begin."),
    h("div", { class: "actions" },
      study.trial_of ? act(`Send ${PEOPLE} made-up answers`, async () => {
        await madeUp(study, place, (sent) => { said.textContent = `${several(sent, "answer")} sent …`; });
        said.textContent = `${several(PEOPLE, "answer")} sent.`;
        again();
      }) : act("Try it", () => tryIt(study)),
      begin(study.trial_of ?? study.id),
      study.trial_of ? act("Throw away", async () => { await change("DELETE", `/v1/studies/${study.id}`); location.hash = "#/"; }) : null), said);
}

const any = (some) => some[Math.floor(Math.random() * some.length)];
/** One of a list: the earlier, the more often. */
const early = (some) => some[Math.floor(some.length * Math.random() ** 2)];
const few = (some, most) => [...new Set(Array.from({ length: Math.floor(Math.random() * (most + 1)) }, () => early(some)))];
const itemsOf = ({ items, size }) => items ?? Array.from({ length: size }, (_, place) => place);
const onScale = ({ low, high }) => low + ((high - low) * (Math.random() + Math.random())) / 2;
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

/** Let people who do not exist answer a trial, each with a device of their own. */
async function madeUp(study, place, progress) {
  const { Client, memoryStore } = await import("/client/index.js");
  const address = `${location.origin}/v1/${place === "plan" ? "plans" : "studies"}/${place === "plan" ? study.fingerprint : study.id}`;
  const text = await (await fetch(`${address}/document`)).text();
  const document = JSON.parse(text);
  let left = PEOPLE;
  const values = [];
  const people = async () => {
    while (left > 0) {
      left -= 1;
      const client = new Client(text, { store: memoryStore(), upload: location.origin, mostEpsilon: 16, most: 16, mostItems: 1e7, mostReportBytes: 1 << 20 });
      const value = answer(document);
      await client.send(value);
      values.push(value);
      client.close();
      if (left % 50 === 0) progress(PEOPLE - left);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, people));
  const key = `made-up ${study.id}`;
  try { sessionStorage.setItem(key, JSON.stringify(counted(document, values, JSON.parse(sessionStorage.getItem(key)) ?? undefined))); } catch { /* storage is blocked: then the truth is not shown */ }
}
