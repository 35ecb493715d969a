// A form that makes a survey: first the kind of question, then its answers, with what to expect beside it.

import { tell } from "./api.js";
import { field, KINDS, numberInput } from "./asking.js";
import { debounced, h } from "./dom.js";
import { expected } from "./expecting.js";
import { placeOf } from "./head.js";
import { hint } from "./help.js";
import { tryIt } from "./trying.js";
import { sure } from "./words.js";

export function createPage(root, lost) {
  document.title = "New survey · localdp";
  root.isForm = true; // what is typed here is not lost when a token ends
  const kinds = Object.entries(KINDS).map(([name, one], place) => ({ name, one, input: h("input", { type: "radio", name: "kind", value: name, id: `kind-${name}`, checked: place === 0, "aria-labelledby": `name-${name}`, "aria-describedby": `about-${name}` }) }));
  const name = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join(""); // so that two surveys may ask the same
  const made = Object.fromEntries(Object.entries(KINDS).map(([name, one]) => [name, one.make()]));
  const chosen = () => kinds.find(({ input }) => input.checked).name;
  const fields = h("div");
  const title = h("input", { maxlength: 200, required: true, placeholder: "Favourite drinks" });
  const question = h("input", { maxlength: 2000, placeholder: KINDS.choice.example });
  const epsilon = h("input", { id: "epsilon", type: "range", min: 0.25, max: 6, step: 0.25, value: 2, "aria-describedby": "epsilon-help" });
  const epsilonSaid = h("output", { for: "epsilon" });
  const users = numberInput(10_000, { min: 1, max: 1e12, step: 1, required: true, inputmode: "numeric" });
  const minimum = numberInput(100, { min: 0, step: 1, inputmode: "numeric" });
  const mechanism = h("select", {}, h("option", { value: "auto" }, "chosen for you"));
  const segments = h("input", { placeholder: "ios, android" });
  const token = h("input", { id: "write-token", type: "checkbox" });
  const once = numberInput("", { min: 0.01, max: 16 });
  const opens = h("input", { type: "date" });
  const closes = h("input", { type: "date" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const button = h("button", { class: "main" }, "Create the survey");
  const first = h("button", { value: "try" }, "Try it first");
  const advice = h("div", { "aria-live": "polite" });
  const panel = h("aside", { class: "card advice", "aria-label": "What to expect" }, h("h2", {}, "What to expect"), advice);
  const onlyPlans = h("div", { class: "fields" },
    field("Budget of one report alone", once, "For people who are asked again and again: the budget above then holds for all reports of a person together, and a single one is protected by this smaller one. Leave it empty otherwise."),
    field("Mechanism", mechanism));
  const labelled = field("Segments", segments, "Optional labels that devices send in the clear, such as the platform. A label is not protected, so never use one for something private: ask that as a question.");
  const isPlan = () => !KINDS[chosen()].alone;

  const form = h("form", { class: "card", async onsubmit(event) {
    event.preventDefault();
    const problem = made[chosen()].problem();
    if (problem) return fail(...problem);
    button.disabled = first.disabled = true;
    error.hidden = true;
    try {
      const draft = event.submitter === first;
      const one = await tell("/v1/studies", {
        ...study(), title: title.value.trim(), question: question.value.trim(), minimum: Number(minimum.value || 0), write_token: token.checked,
        ...(opens.value ? { opens: opens.value } : {}), ...(closes.value ? { closes: closes.value } : {}),
        ...(labels().length ? { segments: labels() } : {}), ...(draft ? { draft } : {}),
      });
      root.go(draft ? await tryIt(one) : placeOf(one));
    } catch (problem) {
      if (problem.status === 401) lost(problem);
      else fail(problem.status === 403 ? "This token may only read. Creating a survey needs an admin token." : problem.message);
    } finally {
      button.disabled = first.disabled = false;
    }
    return undefined;
  } },
  h("fieldset", { class: "kinds" }, h("legend", {}, "What do you want to ask?"), kinds.map(({ name, one, input }) =>
    h("label", { class: "kind" }, input, h("span", {}, h("b", { id: `name-${name}` }, one.title), h("small", { id: `about-${name}` }, one.example))))),
  field("Title", title), field("Question", question, "Optional. Shown to those who answer and to those who read the results."),
  fields,
  h("div", { class: "field" }, h("label", { for: "epsilon" }, "Privacy budget (epsilon) ", epsilonSaid), epsilon,
    h("p", { class: "note", id: "epsilon-help" }, "Smaller protects people better and needs more of them.", hint("epsilon"))),
  field("Expected number of people", users, "A guess is enough: “What to expect” goes by it."),
  h("details", { class: "more" }, h("summary", {}, "More options"), h("div", { class: "fields" },
    h("div", { class: "field" }, h("div", { class: "pair" }, field("Opens", opens), field("Closes", closes)),
      h("p", { class: "note" }, "Optional. Whole days, in UTC.")),
    field("Show shares from this number of reports on", minimum), labelled, onlyPlans,
    h("div", { class: "field check" }, token, h("label", { for: "write-token" }, "Uploads need a write token")))),
  error, h("div", { class: "actions" }, button, first));

  const labels = () => (labelled.hidden ? "" : segments.value).split(",").map((one) => one.trim()).filter(Boolean);

  function fail(text, where) {
    error.textContent = text;
    error.hidden = false;
    (where ?? button).focus();
  }

  /** What is asked, as the collector is asked for it. */
  function study() {
    const asked = made[chosen()];
    const budget = { epsilon: Number(epsilon.value), name };
    if (!isPlan()) return { ...asked.study(Math.round(Number(users.value))), ...budget };
    return { kind: "plan", ...asked.plan(), ...budget, mechanism: mechanism.value, ...(once.value ? { once: Number(once.value) } : {}) };
  }

  function said() {
    if (fields.firstChild !== made[chosen()].element) fields.replaceChildren(made[chosen()].element);
    made[chosen()].said();
    question.placeholder = KINDS[chosen()].example;
    onlyPlans.hidden = !isPlan();
    labelled.hidden = chosen() === "text";
    epsilonSaid.textContent = `${epsilon.value}: a guess of 50% becomes at most ${sure(Number(epsilon.value))}`;
    soon();
  }

  /** The mechanisms that the collector offers for such a plan. */
  function offer(names) {
    const known = [...mechanism.options].slice(1).map((option) => option.value);
    if (names.join() === known.join()) return;
    const now = mechanism.value;
    mechanism.replaceChildren(mechanism.options[0], ...names.map((name) => h("option", { value: name }, name)));
    mechanism.value = names.includes(now) ? now : "auto";
  }

  let latest = 0;
  const soon = debounced(250, async () => {
    const turn = (latest += 1);
    const people = Math.round(Number(users.value));
    const problem = made[chosen()].problem();
    if (problem || !(people >= 1)) {
      advice.replaceChildren(h("p", { class: "note" }, problem ? `${problem[0]} Once that is done, this says how precise the result will be, how many people it takes, how long it lasts, and what to tell them.` : "How many people will be asked?"));
      return;
    }
    try {
      const found = await tell("/v1/preview", { people, study: study() });
      if (turn !== latest || root.signal.aborted) return;
      if (isPlan()) offer(found.parts[0].mechanisms);
      const read = Boolean(advice.querySelector("details:last-of-type")?.open);
      advice.replaceChildren(...expected(found, {
        title: title.value.trim(), question: question.value.trim(), minimum: Number(minimum.value || 0), segments: labels(), whole: study().scale?.step === 1 }).filter(Boolean));
      advice.querySelector("details:last-of-type").open = read; // what to tell people stays open
    } catch (problem) {
      if (turn !== latest || problem.name === "AbortError") return;
      if (problem.status === 401) lost(problem);
      else advice.replaceChildren(h("p", { class: "warning" }, problem.message));
    }
  });

  form.addEventListener("input", said);
  root.append(h("h1", {}, "New survey"), h("div", { class: "beside" }, form, panel));
  said();
}
