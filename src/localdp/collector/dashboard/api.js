// Questions to the collector, with the token of whoever is signed in. The token stays in this tab.

import { announce, h } from "./dom.js";

const KEY = "localdp-token";
const SHARED = "localdp-shared"; // the one survey that a token is for
let token = null;
let shared = null;
try { [token, shared] = [KEY, SHARED].map((key) => sessionStorage.getItem(key)); } catch { /* storage is blocked: the token lives as long as the page */ }

class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export const signedIn = () => token !== null;
/** The fingerprint of the one survey that may be seen, if the token is that of a shared link. */
export const onlySurvey = () => shared;
/** Ask with this token, and keep it nowhere. */
export const useToken = (text) => { token = text; };

export function signOut() {
  token = shared = null;
  try { [KEY, SHARED].forEach((key) => sessionStorage.removeItem(key)); } catch { /* nothing was stored */ }
}

/** Keep a token if the collector takes it; otherwise a `Problem`. */
export async function signIn(text) {
  token = text;
  try {
    shared = (await ask("/v1/token")).plan;
  } catch (error) {
    token = null;
    throw error;
  }
  try {
    sessionStorage.setItem(KEY, text);
    if (shared) sessionStorage.setItem(SHARED, shared);
  } catch { /* it is asked for again after a reload */ }
}

/** The answer as a `Response`; everything but success is a `Problem` with a sentence. */
export async function response(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "no-answer", "The collector does not answer. Is it running, and is there a network?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  const detail = said.detail ?? `The collector answered with status ${answer.status}.`;
  throw new Problem(answer.status, said.code ?? "", sentence(detail));
}

/** The answer as a value. */
export async function ask(path, options) {
  return (await response(path, options)).json();
}

/** Send a value as JSON, and read the answer. */
export async function tell(path, value) {
  return (await change("POST", path, value)).json();
}

/** Change something, with a value as JSON or without one. */
export function change(method, path, value) {
  if (value === undefined) return response(path, { method });
  return response(path, { method, body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });
}

/** A text of the collector as a sentence. */
export function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Let the browser keep an answer as a file with this name. */
export async function save(path, name) {
  const url = URL.createObjectURL(await (await response(path)).blob());
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  announce("The file is downloaded.");
}
