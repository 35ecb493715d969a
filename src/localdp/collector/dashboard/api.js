// Questions to the collector, with the token of whoever is signed in. The token stays in this tab.

const KEY = "localdp-token";
let token = null;
try { token = sessionStorage.getItem(KEY); } catch { /* storage is blocked: the token lives as long as the page */ }

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export const signedIn = () => token !== null;

export function signOut() {
  token = null;
  try { sessionStorage.removeItem(KEY); } catch { /* nothing was stored */ }
}

/** Keep a token if the collector takes it; otherwise a `Problem`. */
export async function signIn(text) {
  token = text;
  try {
    await ask("/v1/plans");
  } catch (error) {
    token = null;
    throw error;
  }
  try { sessionStorage.setItem(KEY, text); } catch { /* it is asked for again after a reload */ }
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

/** Send a value as JSON. */
export function tell(path, value) {
  return ask(path, { method: "POST", body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });
}

/** A text of the collector as a sentence. */
export function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
