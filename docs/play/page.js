// The page: two sliders, the chart that follows them, and one report of one person.

import { beliefs, chart } from "./chart.js";
import { estimate } from "./estimate.js";
import { ANSWERS, PEOPLE, SURVEYS, TRUTH, ask, report } from "./survey.js";

let waiting = 0;
const at = (id) => document.getElementById(id);
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits).replace(/^-(0(\.0+)?)$/, "$1").replace("-", "−")}%`;
const range = ({ low, high }) => `${percent(low, 1)} to ${percent(high, 1)}`;
const survey = () => SURVEYS[at("epsilon").valueAsNumber];
const width = () => Math.min(700, Math.max(300, at("chart").clientWidth));
const people = () => PEOPLE[at("people").valueAsNumber];

at("epsilon").max = SURVEYS.length - 1;
at("epsilon").value = SURVEYS.findIndex(({ plan }) => plan.epsilon >= 0.999);
at("people").max = PEOPLE.length - 1;
at("people").value = PEOPLE.indexOf(1_000);
at("held").append(...ANSWERS.map((answer) => new Option(answer.toLowerCase(), answer)));
at("settings").addEventListener("input", soon);
at("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
at("one").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
at("held").addEventListener("change", send);
addEventListener("resize", soon);
show();
send();

/** Show after the next frame: a slider that is dragged moves more often than the screen is drawn. */
function soon() {
  sayEpsilon();
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => {
    show();
    send();
  });
}

function sayEpsilon() {
  const epsilon = survey().plan.epsilon.toFixed(2).replace(/\.?0+$/, "");
  at("epsilon-said").textContent = epsilon;
  at("epsilon").setAttribute("aria-valuetext", epsilon);
  at("people-said").textContent = people().toLocaleString("en");
  at("people").setAttribute("aria-valuetext", `${people()} people`);
}

function show() {
  sayEpsilon();
  const counts = ask(survey(), people());
  const { raw, corrected } = estimate(counts, survey().p, survey().q);
  const rows = ANSWERS.map((answer, i) => ({ answer, truth: TRUTH[answer] / 100, seen: counts[i] / people(), raw: raw[i], corrected: corrected[i] }));
  const holding = rows.filter((row) => row.corrected.low <= row.truth && row.truth <= row.corrected.high).length;
  const wide = (kind) => rows.reduce((sum, row) => sum + row[kind].high - row[kind].low, 0) / rows.length;
  const off = (kind) => rows.reduce((sum, row) => sum + Math.abs(row[kind].share - row.truth), 0) / rows.length;
  const points = (share) => (share < 0.0005 ? "less than 0.1" : (100 * share).toFixed(1));
  at("summary").textContent =
    `Corrected shares are off by ${points(off("corrected"))} points on average, raw ones by ${points(off("raw"))}. The corrected ` +
    `ranges are ${points(wide("corrected"))} points wide (raw: ${points(wide("raw"))}), and ${holding} of ${rows.length} contain the truth; ` +
    "nine in ten should.";
  at("chart").replaceChildren(chart(rows, width(), rows.map((row) => `${row.answer}: ${percent(row.corrected.share)}`).join(", ")));
  at("figures").replaceChildren(...rows.map(figures));
}

function figures({ answer, truth, seen, raw, corrected }) {
  const row = document.createElement("tr");
  const name = Object.assign(document.createElement("th"), { scope: "row", textContent: answer });
  const cells = [percent(truth), percent(seen, 1), percent(raw.share, 1), range(raw), percent(corrected.share, 1), range(corrected)];
  row.append(name, ...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
  return row;
}

function send() {
  const { plan, p, q } = survey();
  const held = at("held").value;
  const bytes = report(survey(), held);
  const named = ANSWERS[bytes[0]];
  at("sent").textContent =
    `Ada’s device sent one byte, ${bytes[0]}, which says “${named.toLowerCase()}”${named === held ? "" : ", and that is not the truth"}. ` +
    `Devices name the true answer ${percent(p)} of the time, and each other one ${percent(q, q < 0.01 ? 1 : 0)}. Somebody who sees this byte, and thought ` +
    `every answer equally likely before (${percent(1 / ANSWERS.length)}), can now believe:`;
  const rows = ANSWERS.map((answer) => ({ answer, share: answer === named ? p : q })); // the six chances add up to 1
  at("belief").replaceChildren(beliefs(rows, width(), rows.map((row) => `${row.answer}: ${percent(row.share)}`).join(", ")));
  const surest = 1 / (1 + Math.exp(-plan.epsilon));
  at("odds").textContent =
    `Whatever they knew before, the odds between two answers change by a factor of at most ${Math.exp(plan.epsilon).toPrecision(3)}: a guess of ` +
    `50:50 becomes at most ${(100 * surest).toFixed(surest > 0.99 ? 1 : 0)}:${(100 - 100 * surest).toFixed(surest > 0.99 ? 1 : 0)}.`;
}
