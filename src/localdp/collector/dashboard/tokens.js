// Tokens: make one, see when each was used last, revoke it.

import { change, tell } from "./api.js";
import { announce, card, h, scrolling } from "./dom.js";
import { loaded } from "./head.js";
import { moment } from "./words.js";

const SCOPES = { read: "read: see results", write: "write: send reports", admin: "admin: do everything" };

const over = (one) => one.revoked || (one.expires && Date.parse(one.expires) <= Date.now());

export async function tokensPage(root) {
  document.title = "Tokens · localdp";
  root.append(h("h1", {}, "Tokens"));
  let every = null;
  try {
    every = (await loaded(root, "/v1/tokens")).tokens;
  } catch (error) {
    if (error.status !== 403) throw error;
    root.querySelector(".loading")?.remove();
    root.append(h("p", { class: "card" }, "This token may only read. An admin token shows the others, makes new ones and revokes them."));
    return;
  }
  const made = h("div", { "aria-live": "polite" });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const fail = (problem) => { error.textContent = problem.message; error.hidden = false; };
  const list = h("tbody");
  const row = (one) => {
    const revoke = h("button", { type: "button", class: "small", onblur: () => say("Revoke"), async onclick() {
      if (revoke.textContent === "Revoke") {
        say("Really revoke?");
        return;
      }
      revoke.disabled = true;
      try {
        await change("DELETE", `/v1/tokens/${one.id}`);
        announce("The token is revoked.");
        revoke.closest("tr").remove(); // the rest of the page stays: it may show a token that nobody has copied yet
        old.append(row({ ...one, revoked: new Date().toISOString() }));
        revoked();
      } catch (problem) {
        revoke.disabled = false;
        fail(problem);
      }
    } });
    const say = (text) => {
      revoke.textContent = text;
      revoke.setAttribute("aria-label", `${text} ${one.name || `token ${one.id}`}`);
    };
    say("Revoke");
    return h("tr", { class: one.revoked ? "revoked" : null }, h("th", { scope: "row" }, one.name || `token ${one.id}`), h("td", {}, one.scope, one.plan ? " (one survey)" : "", one.expires ? h("small", {}, ` until ${moment(one.expires)}`) : ""),
      h("td", { "data-name": "made " }, moment(one.created)), h("td", { "data-name": "used last: " }, one.used ? moment(one.used) : "never"), h("td", {}, one.revoked ? `revoked ${moment(one.revoked)}` : over(one) ? "ended" : revoke));
  };
  list.append(...every.filter((one) => !over(one)).map(row));
  const old = h("tbody", {}, every.filter(over).map(row));
  const ended = h("summary");
  const table = (caption, body) => scrolling(`${caption}, a table`, h("table", { class: "tokens" }, h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, ["name", "may", "made", "used last", "revoke"].map((text) => h("th", { scope: "col" }, text)))), body), "tall");
  const name = h("input", { id: "token-name", maxlength: 200, required: true, placeholder: "Newsletter team" });
  const scope = h("select", { id: "token-scope" }, Object.entries(SCOPES).map(([value, text]) => h("option", { value }, text)));
  root.append(
    card("Make a token", "Whoever has it can do what it says. It is shown once; the collector keeps only its hash.",
      h("form", { class: "life", async onsubmit(event) {
        event.preventDefault();
        error.hidden = true;
        try {
          const one = await tell("/v1/tokens", { scope: scope.value, name: name.value.trim() });
          list.append(row(one));
          made.replaceChildren(h("p", { class: "good" }, "Copy it now, it is not shown again: ", h("code", {}, one.token)));
          name.value = "";
        } catch (problem) { fail(problem); }
      } },
      h("div", { class: "pair" }, h("div", { class: "field" }, h("label", { for: "token-name" }, "Who or what it is for"), name),
        h("div", { class: "field" }, h("label", { for: "token-scope" }, "It may"), scope)),
      h("div", { class: "actions" }, h("button", { class: "main" }, "Make the token"))), made, error),
    card("Tokens in use", "“Used last” is right to the hour.", table("Tokens in use", list)),
    h("details", {}, ended, h("div", { class: "card" }, table("Revoked or ended tokens", old))));
  const revoked = () => { ended.textContent = `Revoked or ended (${old.children.length})`; ended.parentNode.hidden = !old.children.length; };
  revoked();
}
