// Send a batch to a collector by HTTP.
//
//     POST <url>
//     Content-Type: application/octet-stream
//     Upload-Id: <32 hexadecimal digits>
//
// The upload id is drawn once for each report and sent with every attempt, so that a collector counts the report once. No
// cookies and no referrer are sent, and redirections are not followed.

import { InvalidInputError } from "../errors.js";
import { DEADLINE, LONGEST_TEXT, MOST_KEPT_ALIVE } from "../numbers.js";

/**
 * What a server said: its status (0 if there was no answer), for how many seconds it wants to be left alone, and its words.
 * @typedef {{ status: number, retryAfter?: number | undefined, detail?: string | undefined }} Answer
 */
/**
 * Sends a batch with its upload id (32 hexadecimal digits) and the version of the wording that its person was shown, if it is known.
 * Returning nothing means success; a number is the status that a server answered. An error means that it is tried again later.
 * @typedef {(body: Uint8Array, uploadId: string, wording?: number) => Promise<number | Answer | void> | number | Answer | void} Upload
 */

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

// Answers about the report itself, which sending it again cannot change. Other answers, such as 401 or 404, may be about a
// wrong token or a wrong route, which somebody can mend: the report waits.
const NEVER = [400, 409, 410, 413, 415, 422];

/**
 * An answer as a sentence.
 * @param {Answer} answer
 */
export const inWords = ({ status, detail = "" }) =>
  status ? `the server answered ${status}${detail && `: ${detail}`}` : `there was no answer (${detail})`;

/** @param {number} status */
export const isDelivered = (status) => status >= 200 && status < 300;

/** @param {number} status */
export const isFinal = (status) => NEVER.includes(status);

/**
 * A function that posts batches to this URL. A URL without a path is completed by the route.
 * @param {string} address in a page, it may be relative to the page
 * @param {string} route
 * @param {string} [token]
 * @param {string} [segment]
 * @returns {Upload}
 */
export function byHttp(address, route, token, segment) {
  /** @type {any} */
  let url;
  try {
    url = new URL(address, globalThis.document?.baseURI);
  } catch {
    // it is refused below
  }
  const refuseIf = (/** @type {unknown} */ isWrong, /** @type {string} */ sentence) => {
    if (isWrong) throw new InvalidInputError(sentence);
  };
  const isWrong = !/^https?:$/.test(url?.protocol) || url.hash || (url.pathname === "/" && url.search);
  refuseIf(isWrong, `reports are uploaded to an http:// or https:// address, not to ${address.slice(0, 100)}`);
  refuseIf(url.username || url.password, "an address has no user name and no password");
  refuseIf(token !== undefined && !/^[!-~]+$/.test(token), "a token is visible ASCII characters without spaces");
  refuseIf(segment !== undefined && !/^[A-Za-z0-9_][A-Za-z0-9 ._+-]{0,39}$/.test(segment), "a segment is one of the labels that the collection lists");
  const isOpen = url.protocol === "http:" && !LOOPBACK.includes(url.hostname);
  refuseIf(token !== undefined && isOpen, "a token is sent to https:// addresses only");
  if (url.pathname === "/") url.pathname = route;
  const target = url.href;

  return (body, uploadId, wording) =>
    request(target, {
      method: "POST",
      body: /** @type {Uint8Array<ArrayBuffer>} */ (body),
      headers: {
        "Content-Type": "application/octet-stream",
        "Upload-Id": uploadId,
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(segment !== undefined && { Segment: segment }),
        ...(wording && { Wording: `${wording}` }),
      },
      keepalive: body.length <= MOST_KEPT_ALIVE,
    });
}

/**
 * One request, within a deadline, without cookies and without a referrer. Redirections are not followed. It never fails: without an
 * answer, the status is 0 and the detail says what may be the cause.
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<Answer & { text: string }>}
 */
export async function request(url, options) {
  let response;
  try {
    response = await fetch(url, {
      cache: "no-store", // a tag of the cache that is sent back, or a cached answer, would tell one visitor from all others
      credentials: "omit",
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(DEADLINE),
      ...options,
    });
  } catch (error) {
    return { status: 0, text: "", detail: `${error}; ${cause(url)}` };
  }
  const { status } = response;
  const text = await textOf(response).catch(() => "");
  // A Retry-After that is a date is not obeyed, because clocks of devices are often wrong.
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  if (!status || (status >= 300 && status < 400)) { // browsers give a redirection the status 0
    return { status: 0, text: "", detail: `${url} is redirected: give the address that it leads to` };
  }
  return { status, retryAfter, text, detail: isDelivered(status) ? "" : said(text) };
}

/**
 * What a server says, as far as it is read: it must not fill the memory.
 * @param {any} response
 */
async function textOf({ body }) {
  let text = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part; !(part = await reader.read()).done && text.length < LONGEST_TEXT; ) text += part.value;
  return text;
}

/**
 * The sentence in what a server said: the detail of a problem document, or the beginning of the text.
 * @param {string} text
 */
function said(text) {
  try {
    text = `${JSON.parse(text).detail ?? ""}`;
  } catch {
    if (text.startsWith("<")) return ""; // nobody reads a page of HTML
  }
  return text.replace(/[\s\p{C}]+/gu, " ").trim().slice(0, 300); // no character that changes a terminal or a log
}

/**
 * Why a request may have had no answer. Browsers do not say, so that pages cannot find out about other servers.
 * @param {string} url
 */
const cause = (url) =>
  globalThis.location?.protocol === "https:" && url.startsWith("http:")
    ? "pages over https:// send to https:// addresses only"
    : `is ${url} a collector that is running and permits this page (CORS)?`;
