// The pages of the dashboard, chosen by the part of the address after "#".

import { signedIn, signOut } from "./api.js";
import { createPage } from "./create.js";
import { h } from "./dom.js";
import { planPage } from "./plan.js";
import { plansPage } from "./plans.js";
import { signInPage } from "./signin.js";

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let leave = null; // stops what the page that is shown has under way

function chosen() {
  const [place, name] = location.hash.replace(/^#\/?/, "").split("/");
  if (place === "plan" && name) return (root, lost) => planPage(root, name, lost);
  if (place === "new") return createPage;
  return plansPage;
}

/** Show the page of the address, or the sign-in in front of it. `why` says why somebody has to sign in again. */
function show(why = "") {
  leave?.abort();
  leave = new AbortController();
  nav.hidden = !signedIn();
  const own = leave.signal;
  const root = h("div", { class: "page" });
  main.replaceChildren(root);
  const lost = (error) => {
    if (own.aborted || error.name === "AbortError") return;
    if (error.status === 401) {
      signOut();
      show("Your token is no longer valid. Sign in again.");
    } else {
      root.append(h("p", { class: "error", role: "alert" }, error.message));
      if (!error.status && error.code !== "no-answer") console.error(error);
    }
  };
  root.signal = own;
  if (signedIn()) {
    for (const link of nav.querySelectorAll("a")) {
      const here = (link.getAttribute("href") === "#/new") === location.hash.startsWith("#/new");
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    Promise.resolve(chosen()(root, lost)).catch(lost);
  } else {
    signInPage(root, () => { show(); main.focus(); }, why);
  }
  scrollTo(0, 0);
}

document.getElementById("leave").addEventListener("click", () => { signOut(); show("You have signed out."); });
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => { show(); main.focus(); });
show();
