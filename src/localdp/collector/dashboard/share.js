// A link that shows one survey to whoever has it, until it expires; and the same for a frame in another page.

import { tell } from "./api.js";
import { announce, card, h } from "./dom.js";
import { field } from "./asking.js";
import { titleOf } from "./head.js";
import { nextDay } from "./words.js";

const DAYS = 30;

export function shareCard(study) {
  const today = new Date().toISOString().slice(0, 10);
  const until = h("input", { type: "date", required: true, min: today, value: nextDay(today, DAYS) });
  const who = h("input", { maxlength: 200, placeholder: "For the board" });
  const made = h("div", { class: "fields", "aria-live": "polite" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const copied = (name, text) => h("div", { class: "field" }, h("span", {}, name), h("code", {}, text), h("button", { type: "button", class: "small", async onclick() {
    await navigator.clipboard.writeText(text).catch(() => {});
    announce("Copied to the clipboard.");
  } }, `Copy the ${name.toLowerCase()}`));
  const element = card("Share", "Whoever has the link sees the results of this survey and nothing else. It can be revoked under “Tokens”.",
    h("form", { class: "life", async onsubmit(event) {
      event.preventDefault();
      error.hidden = true;
      try {
        const { token } = await tell("/v1/tokens", { scope: "read", plan: study.id, expires: until.value, name: `shared: ${who.value.trim() || titleOf(study)}`.slice(0, 200) });
        made.replaceChildren(copied("Link", `${location.origin}/#/shared/${token}`),
          copied("Frame", `<iframe src="${location.origin}/embed#${token}" width="720" height="480" title="Results"></iframe>`));
      } catch (problem) {
        error.textContent = problem.status === 403 ? "Sharing needs an admin token." : problem.message;
        error.hidden = false;
      }
    } }, h("div", { class: "pair" }, field("Who it is for", who), field("Until", until)), h("div", { class: "actions" }, h("button", {}, "Make a link"))), made, error);
  element.classList.add("sharing");
  return element;
}
