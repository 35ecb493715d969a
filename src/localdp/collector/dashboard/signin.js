// Signing in with a token.

import { signIn } from "./api.js";
import { h } from "./dom.js";

export function signInPage(root, done, why) {
  document.title = "Sign in · localdp";
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password", spellcheck: "false", required: true,
    "aria-describedby": "token-help token-error",
  });
  const error = h("p", { class: "error", id: "token-error", role: "alert", hidden: !why }, why);
  const button = h("button", { class: "main" }, "Sign in");
  const form = h("form", {
    async onsubmit(event) {
      event.preventDefault();
      const text = field.value.trim();
      if (!/^[!-~]+$/.test(text)) {
        fail("Paste the token here: one line without spaces.");
        return;
      }
      button.disabled = true;
      try {
        await signIn(text);
        done();
      } catch (problem) {
        fail(problem.status === 401 ? "The collector does not know this token. Is it complete?"
          : problem.status === 403 ? "This token may only send reports. Reading needs one with the scope read or admin."
            : problem.message);
      } finally {
        button.disabled = false;
      }
    },
  },
  h("input", { type: "text", name: "user", autocomplete: "username", hidden: true }), // password managers want one
  h("label", { for: "token" }, "Token"), field, error, button,
  h("p", { class: "note", id: "token-help" },
    "The collector printed a token for its administrator when it was started for the first time. It stays in this tab and is forgotten when you close it."));

  function fail(text) {
    error.textContent = text;
    error.hidden = false;
    field.focus();
    field.select();
  }

  root.append(h("div", { class: "card narrow" },
    h("h1", {}, "What do people choose?"),
    h("p", { class: "lead" }, "See how many people give each answer, while nobody has to reveal theirs."), form));
  field.focus();
}
