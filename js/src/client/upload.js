// Send a batch to a collector by HTTP.
//
//     POST <url>
//     Content-Type: application/octet-stream
//     Upload-Id: <32 hexadecimal digits>
//
// The upload id is drawn once for each report and sent with every attempt, so that a collector counts the report once. No
// cookies and no referrer are sent, and redirections are not followed.

import { InvalidInputError } from "../errors.js";
import { DEADLINE, MOST_KEPT_ALIVE } from "../numbers.js";

/**
 * What a server said: its status, and for how many seconds it wants to be left alone.
 * @typedef {{ status: number, retryAfter?: number | undefined }} Answer
 */
/**
 * Sends a batch with its upload id (32 hexadecimal digits). Returning nothing means success; a number is the status that a
 * server answered. An error means that it is tried again later.
 * @typedef {(body: Uint8Array, uploadId: string) => Promise<number | Answer | void> | number | Answer | void} Upload
 */

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

// Answers about the report itself, which sending it again cannot change. Other answers, such as 401 or 404, may be about a
// wrong token or a wrong route, which somebody can mend: the report waits.
const NEVER = [400, 409, 410, 413, 415, 422];

/** @param {number} status */
export const isDelivered = (status) => status >= 200 && status < 300;

/** @param {number} status */
export const isFinal = (status) => NEVER.includes(status);

/**
 * A function that posts batches to this URL. A URL without a path is completed to the collector's route.
 * @param {string} address in a page, it may be relative to the page
 * @param {string} fingerprint of the plan
 * @param {string} [token]
 * @returns {Upload}
 */
export function byHttp(address, fingerprint, token) {
  /** @type {any} */
  let url;
  try {
    url = new URL(address, globalThis.document?.baseURI);
  } catch {
    // it is refused below
  }
  if (!/^https?:$/.test(url?.protocol) || url.hash || (url.pathname === "/" && url.search)) {
    throw new InvalidInputError(`reports are uploaded to an http:// or https:// address, not to ${address.slice(0, 100)}`);
  }
  if (url.username || url.password) {
    throw new InvalidInputError("an address for uploads has no user name and no password; give a token instead");
  }
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    throw new InvalidInputError("a token is visible ASCII characters without spaces");
  }
  if (token !== undefined && url.protocol === "http:" && !LOOPBACK.includes(url.hostname)) {
    throw new InvalidInputError("a token is sent to https:// addresses only: on the way to this one anybody can read it");
  }
  if (url.pathname === "/") url.pathname = `/v1/plans/${fingerprint}/reports`;
  const target = url.href;

  return async (body, uploadId) => {
    const response = await fetch(target, {
      method: "POST",
      body: /** @type {Uint8Array<ArrayBuffer>} */ (body),
      headers: {
        "Content-Type": "application/octet-stream",
        "Upload-Id": uploadId,
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      credentials: "omit",
      keepalive: body.length <= MOST_KEPT_ALIVE,
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(DEADLINE),
    });
    response.body?.cancel().catch(() => {}); // the words of the answer are not needed
    // A Retry-After that is a date is not obeyed, because clocks of devices are often wrong.
    return { status: response.status, retryAfter: Number(response.headers.get("Retry-After")) || 0 };
  };
}
