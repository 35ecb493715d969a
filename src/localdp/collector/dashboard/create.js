// A form that makes a plan, with advice while it is filled in.

import { ask, tell } from "./api.js";
import { debounced, h } from "./dom.js";
import { count, percent } from "./words.js";

const MECHANISMS = ["auto", "grr", "sue", "oue", "ss", "olh", "blh", "llh", "hr"];

export function createPage(root, lost) {
  document.title = "New plan · localdp";
  const title = h("input", { id: "title", maxlength: 200, required: true, placeholder: "Favourite drinks" });
  const question = h("input", { id: "question", maxlength: 2000, placeholder: "What do you drink in the morning?" });
  const items = h("textarea", { id: "items", rows: 8, required: true, spellcheck: "false", placeholder: "tea\ncoffee\nwater", "aria-describedby": "items-help" });
  const other = h("input", { id: "other", "aria-describedby": "other-help" });
  const epsilon = h("input", { id: "epsilon", type: "range", min: 0.25, max: 6, step: 0.25, value: 2, "aria-describedby": "epsilon-help" });
  const epsilonSaid = h("output", { for: "epsilon" });
  const users = h("input", { id: "users", type: "number", min: 1, max: 1e12, step: 1, value: 10_000, required: true, inputmode: "numeric" });
  const minimum = h("input", { id: "minimum", type: "number", min: 0, step: 1, value: 100, inputmode: "numeric" });
  const mechanism = h("select", { id: "mechanism" }, MECHANISMS.map((name) => h("option", { value: name }, name === "auto" ? "chosen for you" : name)));
  const token = h("input", { id: "write-token", type: "checkbox" });
  const once = h("input", { id: "once", type: "number", min: 0.01, max: 16, step: "any", inputmode: "decimal", "aria-describedby": "once-help" });
  const held = h("input", { id: "held", type: "number", min: 1, max: 65_536, step: 1, value: 1, inputmode: "numeric", "aria-describedby": "held-help" });
  const opens = h("input", { id: "opens", type: "date" });
  const closes = h("input", { id: "closes", type: "date", "aria-describedby": "closes-help" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const button = h("button", { class: "main" }, "Create the plan");
  const itemsHelp = h("p", { class: "note", id: "items-help" });
  const advice = h("div", { "aria-live": "polite" });
  const panel = h("aside", { class: "card advice", "aria-label": "Advice" }, h("h2", {}, "What to expect"), advice);
  const field = (name, input, ...more) => h("div", { class: "field" }, h("label", { for: input.id }, name), input, ...more);

  const form = h("form", { class: "card", async onsubmit(event) {
    event.preventDefault();
    const { listed, twice } = read();
    if (twice.length) return fail(`“${twice[0]}” is listed more than once.`, items);
    if (listed.length < 2) return fail("A plan needs at least two items, one on each line.", items);
    button.disabled = true;
    error.hidden = true;
    try {
      const made = await tell("/v1/plans", {
        title: title.value.trim(), question: question.value.trim(), items: listed, epsilon: Number(epsilon.value),
        mechanism: mechanism.value, minimum: Number(minimum.value || 0), write_token: token.checked,
        ...(other.value.trim() ? { other: other.value.trim() } : {}),
        ...(once.value ? { once: Number(once.value) } : {}),
        ...(Number(held.value) > 1 ? { set_size: Number(held.value) } : {}),
        ...(opens.value ? { opens: opens.value } : {}), ...(closes.value ? { closes: closes.value } : {}),
      });
      location.hash = `#/plan/${made.short}`;
    } catch (problem) {
      if (problem.status === 401) lost(problem);
      else fail(problem.status === 403 ? "This token may only read. Creating a plan needs an admin token." : problem.message);
    } finally {
      button.disabled = false;
    }
    return undefined;
  } },
  field("Title", title), field("Question", question, h("p", { class: "note" }, "Optional. Shown to those who read the results.")),
  field("Items, one on each line", items, itemsHelp),
  h("div", { class: "field" }, h("label", { for: "epsilon" }, "Privacy budget (epsilon) ", epsilonSaid), epsilon,
    h("p", { class: "note", id: "epsilon-help" }, "Smaller protects people better and needs more of them.")),
  field("Expected number of people", users, h("p", { class: "note" }, "Only for the advice.")),
  h("details", { class: "more" }, h("summary", {}, "More options"),
    field("Catch-all item", other, h("p", { class: "note", id: "other-help" }, "What devices report if their value is not listed, such as “something else”.")),
    field("Items that one person may hold", held, h("p", { class: "note", id: "held-help" }, "With more than 1, each person has a list of items, such as the pages they have visited.")),
    field("Budget of one report alone", once, h("p", { class: "note", id: "once-help" }, "For people who are asked again and again: the budget above then holds for all reports of a person together, and a single one is protected by this smaller one. Leave it empty otherwise.")),
    h("div", { class: "pair" }, field("Opens", opens), field("Closes", closes)),
    h("p", { class: "note", id: "closes-help" }, "Optional. Whole days, in UTC."),
    field("Show shares from this number of reports on", minimum),
    field("Mechanism", mechanism),
    h("div", { class: "field check" }, token, h("label", { for: "write-token" }, "Uploads need a write token"))),
  error, button);

  function fail(text, where) {
    error.textContent = text;
    error.hidden = false;
    (where ?? button).focus();
  }

  function read() {
    const lines = items.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const seen = new Set();
    const twice = lines.filter((line) => seen.has(line) || !seen.add(line));
    return { listed: lines, twice };
  }

  function said() {
    const { listed, twice } = read();
    const sure = 1 / (1 + Math.exp(-Number(epsilon.value)));
    epsilonSaid.textContent = `${epsilon.value}: a guess of 50% becomes at most ${percent(sure, 0.01)}`;
    itemsHelp.textContent = twice.length ? `“${twice[0]}” is listed more than once.` : listed.length ? `${count(listed.length)} items.` : "They cannot be changed later; a new list is a new plan.";
    soon();
  }

  const soon = debounced(250, async () => {
    const { listed, twice } = read();
    const number = twice.length ? 0 : listed.length + (other.value.trim() ? 1 : 0);
    const people = Math.round(Number(users.value));
    if (number < 2 || !(people >= 1)) {
      advice.replaceChildren(h("p", { class: "note" }, "List at least two items, each once, and this shows how precise the result will be."));
      return;
    }
    try {
      const more = `${once.value ? `&once=${once.value}` : ""}${Number(held.value) > 1 ? `&set_size=${Math.round(held.value)}` : ""}`;
      const found = await ask(`/v1/advice?items=${number}&users=${people}&epsilon=${epsilon.value}${more}`, { signal: root.signal });
      const wanted = mechanism.value === "auto" ? found.recommended : mechanism.value;
      const chosen = found.options.find((one) => one.mechanism === wanted || one.mechanism === `${wanted}+${wanted}`);
      if (!chosen) {
        advice.replaceChildren(h("p", { class: "warning" }, `The mechanism ${wanted} is not offered for ${count(number)} items at this epsilon.`));
        return;
      }
      const { smallest_share: seen } = chosen;
      advice.replaceChildren(
        h("dl", { class: "tiles" },
          h("div", { class: "tile" }, h("dt", {}, "Typical error of a share"), h("dd", {}, `± ${percent(chosen.std_error_share)}`, h("small", {}, `${count(chosen.std_error)} of ${count(people)} people`))),
          h("div", { class: "tile" }, h("dt", {}, "Smallest share seen"), h("dd", {}, seen === null ? "none" : percent(seen), h("small", {}, seen === null ? "not even an item that everybody holds" : `${count(seen * people)} people`)))),
        seen === null || seen > 1.5 / number ? h("p", { class: "warning" },
          "An item of average popularity would be lost in the noise. More people, fewer items or a larger epsilon help.") : h("p", { class: "good" }, "Even an item of average popularity will stand out of the noise."),
        ...found.why.slice(0, mechanism.value === "auto" ? 2 : 0).map((one) => h("p", { class: "note" }, one)));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === 401) lost(problem);
      else advice.replaceChildren(h("p", { class: "warning" }, problem.message));
    }
  });

  form.addEventListener("input", said);
  root.append(h("h1", {}, "New plan"), h("div", { class: "beside" }, form, panel));
  said();
}
