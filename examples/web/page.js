// One question: ask it, say what will be sent, send it, and show what was sent.

import { Client, LocalDPError, Plan } from "./localdp/index.js";
import { chances, percent, rounded, sureness } from "./words.js";

const at = (id) => document.getElementById(id);
const bars = new Map();

const text = await (await fetch("plan.json")).text();
const plan = accepted(text);
const { domain, parameters } = JSON.parse(text);
const shape = { items: domain.items, truth: Number(parameters.truth) / 2 ** 64 };
const client = new Client(plan, { upload: location.origin, most: 2 });

showAnswers();
at("form").addEventListener("change", showBefore);
at("form").addEventListener("submit", send);

/** The plan, which is refused if it was altered or asks for too much. */
function accepted(json) {
  try {
    return Plan.parse(json);
  } catch (error) {
    at("loading").textContent = `The survey cannot be shown. ${error.message}.`;
    throw error;
  }
}

function showAnswers() {
  at("loading").remove();
  for (const item of shape.items) {
    const choice = element("label", "choice");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: item });
    choice.append(input, item);
    at("answers").append(choice);
    bars.set(item, addBar(item));
  }
}

function showBefore() {
  const held = chosen();
  const shares = chances(shape, held);
  const own = shares.find(({ item }) => item === held).share;
  const { factor, before, after } = sureness(plan.epsilon, shape.items.length);
  at("draw").textContent =
    `Your device draws one of the answers at random, and sends that one. Your own answer has the best chance` +
    `${own < 0.5 ? ", but more often than not another one is drawn" : ""}. Out of 100 people who answer “${held}”, this many send`;
  for (const { item, share } of shares) {
    const { row, bar, said } = bars.get(item);
    row.classList.toggle("true", item === held);
    bar.setAttribute("width", 100 * share);
    said.textContent = Math.round(100 * share);
  }
  at("reveals").textContent =
    `Suppose that somebody sees your report and had no idea of your answer before: to them, each was ${percent(before)} likely. ` +
    `Now they can be ${percent(after)} sure of one answer, and no surer. Whatever they knew, the odds between any two answers ` +
    `change by a factor of at most ${rounded(factor)}.`;
  at("pays").textContent =
    `In the words of the field, epsilon is ${rounded(plan.epsilon)}. A different answer on another day spends that much again. This ` +
    `browser spends at most ${client.most} in all, and then gives no new answers.`;
  at("before").hidden = false;
  at("send").disabled = false;
}

async function send(event) {
  event.preventDefault();
  at("send").disabled = true;
  at("status").textContent = "";
  try {
    const batch = await client.report(chosen()); // the bytes that `send` sends, since this plan perturbs once only
    const delivery = await client.send(chosen());
    await showAfter(batch, delivery);
  } catch (error) {
    if (!(error instanceof LocalDPError)) throw error;
    at("status").textContent = inWords(error);
  } finally {
    at("send").disabled = false;
  }
}

async function showAfter(batch, delivery) {
  const header = 24; // the format, the plan and the number of reports; see docs/wire-format.md
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const report = element("span", "report");
  report.textContent = hex(batch.slice(header));
  at("bytes").replaceChildren(`${hex(batch.slice(0, header))} `, report);
  at("says").textContent = `“${shape.items[batch[header]]}”`;
  at("sent").textContent = delivery.waiting
    ? "The collector does not answer at the moment. The report waits in this browser, and is sent later: these bytes, and no others."
    : "The collector has these bytes. Only the marked part is about you; the rest names the survey and is the same for everybody.";
  const spent = await client.spent();
  at("spent").textContent = `${rounded(spent)} of ${client.most}`;
  at("meter").max = client.most;
  at("meter").value = spent;
  at("again").textContent = "Send the same answer again, today or next year: the same bytes leave this browser, and no more is spent. Another answer spends again.";
  at("after").hidden = false;
  at("after").focus();
}

function inWords(error) {
  if (error.code === "budget") return "This browser has spent all the privacy that it may spend on this survey. Nothing was sent.";
  if (error.code === "storage-blocked") {
    return "Your browser does not let this page store anything. Without a memory the blur could be averaged away, so nothing was sent.";
  }
  return `Nothing was sent. ${error.message}`;
}

const chosen = () => new FormData(at("form")).get("answer");

function element(name, className) {
  return Object.assign(document.createElement(name), { className });
}

/** One line of the drawing: an answer, a bar and how often it is sent. SVG, because a strict page permits no inline styles. */
function addBar(item) {
  const row = document.createElement("li");
  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const picture = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
  const bar = svg("rect", { class: "bar", height: 8, width: 0, rx: 1 });
  picture.append(svg("rect", { class: "track", height: 8, width: 100, rx: 1 }), bar);
  const name = document.createElement("span");
  name.textContent = item;
  const said = element("span", "share");
  row.append(name, picture, said);
  at("chances").append(row);
  return { row, bar, said };
}
