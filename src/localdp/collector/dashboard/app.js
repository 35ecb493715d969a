// The pages of the dashboard, chosen by the part of the address after "#".

import { ask, onlySurvey, signedIn, signIn, signOut } from "./api.js";
import { createPage } from "./create.js";
import { h } from "./dom.js";
import { placeOf } from "./head.js";
import { helpPage } from "./help.js";
import { planPage } from "./plan.js";
import { questionnairePage } from "./questionnaire.js";
import { reportPage } from "./report.js";
import { roundsPage } from "./rounds.js";
import { settingsPage } from "./settings.js";
import { signInPage } from "./signin.js";
import { sendPage } from "./snippets.js";
import { studiesPage } from "./studies.js";
import { tokensPage } from "./tokens.js";
import { uploadsPage } from "./uploads.js";

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let leave = null; // stops what the page that is shown has under way
let kept = null; // a page in which somebody has typed, to be shown again after signing in anew

const RESULTS = { plan: planPage, questionnaire: questionnairePage, discovery: roundsPage, sets: roundsPage };
const ABOUT = { send: sendPage, uploads: uploadsPage, settings: settingsPage, report: reportPage };
const PAGES = { new: createPage, tokens: tokensPage, help: helpPage };

function chosen() {
  const [place, name, about] = location.hash.replace(/^#\/?/, "").split("/");
  if (onlySurvey() && !Object.hasOwn(RESULTS, place) && place !== "help") return toTheSurvey;
  if (Object.hasOwn(RESULTS, place) && name) {
    const page = Object.hasOwn(ABOUT, about) ? ABOUT[about] : RESULTS[place];
    return (root, lost) => page(root, lost, place, name);
  }
  return Object.hasOwn(PAGES, place) ? (root, lost) => PAGES[place](root, lost, name) : studiesPage;
}

/** A shared link leads to the report of one survey. */
async function toTheSurvey() {
  location.replace(`${placeOf(await ask(`/v1/studies/${onlySurvey()}`))}/report`);
}

/** Sign in with the token of a shared link, and take it out of the address. */
async function opened() {
  const [, token] = /^#\/shared\/([!-~]+)$/.exec(location.hash) ?? [];
  if (!token) {
    show();
    return;
  }
  signOut();
  history.replaceState(null, "", "#/");
  try {
    await signIn(token);
    show();
  } catch (error) {
    show(error.status === 401 ? "This link is no longer valid." : error.message);
  }
}

/** Show the page of the address, or the sign-in in front of it. `why` says why somebody has to sign in again. */
function show(why = "") {
  leave?.abort();
  leave = new AbortController();
  nav.hidden = !signedIn();
  for (const link of nav.querySelectorAll("a")) link.hidden = onlySurvey() !== null && link.getAttribute("href") !== "#/help";
  const own = leave.signal;
  const typed = signedIn() && kept?.place === location.hash;
  const root = typed ? kept.root : h("div", { class: "page" });
  main.replaceChildren(root);
  const lost = (error) => {
    if (root.signal.aborted || error.name === "AbortError") return;
    if (error.status === 401) {
      signOut();
      kept = root.isForm ? { root, place: location.hash, title: document.title } : null;
      show("Your token is no longer valid. Sign in again.");
    } else {
      root.querySelector(".loading")?.remove();
      root.append(h("p", { class: "error", role: "alert" }, error.message));
      if (!error.status && error.code !== "no-answer") console.error(error);
    }
  };
  root.signal = own;
  // What was asked for may be answered when somebody has gone on to another page, which stays as it is.
  root.go = (place = location.hash) => {
    if (own.aborted) return;
    if (place !== location.hash) location.hash = place;
    else { show(); main.focus(); }
  };
  if (signedIn()) {
    const place = location.hash.split("/")[1] ?? "";
    for (const link of nav.querySelectorAll("a")) {
      if (link.getAttribute("href").slice(2) === (Object.hasOwn(PAGES, place) ? place : "")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (typed) document.title = kept.title;
    else Promise.resolve(chosen()(root, lost)).catch(lost);
    kept = null;
  } else {
    signInPage(root, () => { show(); main.focus(); }, why);
  }
  scrollTo(0, 0);
}

document.getElementById("leave").addEventListener("click", () => { signOut(); show("You have signed out."); });
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => { opened(); main.focus(); });
opened();
