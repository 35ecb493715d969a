// SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104), on bytes. The browser's own are asynchronous, and missing on pages
// that were not loaded over HTTPS.

import { toHex, utf8 } from "./hex.js";

const PRIMES = /** @type {number[]} */ ([]);
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);

/**
 * The first 32 binary digits after the point of a root of each prime: the array keeps the low 32 digits of a whole part.
 * Floats have 17 digits more than that, and no root comes nearer to a whole number than 2^-8, so rounding does not matter.
 * @param {number[]} primes
 * @param {number} degree
 */
const rootDigits = (primes, degree) => Int32Array.from(primes, (prime) => prime ** (1 / degree) * 2 ** 32);

const CONSTANTS = rootDigits(PRIMES, 3);
const START = rootDigits(PRIMES.slice(0, 8), 2);

const w = new Int32Array(64); // the message schedule of one block

/**
 * @param {...Uint8Array} parts
 * @returns {Uint8Array<ArrayBuffer>} the parts, one after the other
 */
export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * @param {Uint8Array} message
 * @returns {Uint8Array<ArrayBuffer>} the 32 bytes of the hash
 */
export function sha256(message) {
  const length = message.length;
  const padded = joined(message, new Uint8Array(64 - ((length + 8) % 64) + 8));
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(8 * length));
  const state = START.slice();
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  state.forEach((word, i) => view.setInt32(4 * i, word));
  return padded.slice(0, 32);
}

/**
 * Take in the block of 64 bytes at this place. (A function of its own is compiled sooner than a loop in a long one.)
 * @param {Int32Array} state
 * @param {DataView} view
 * @param {number} at
 */
function compress(state, view, at) {
  let a = state[0]; // one by one, which is several times as fast as all together
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15];
    const y = w[i - 2];
    const small = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    w[i] = w[i - 16] + small + w[i - 7] + (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10));
  }
  for (let i = 0; i < 64; i++) {
    const turnedE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const turnedA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const first = (h + turnedE + ((e & f) ^ (~e & g)) + CONSTANTS[i] + w[i]) | 0;
    const second = turnedA + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @returns {Uint8Array<ArrayBuffer>} the 32 bytes of HMAC-SHA-256
 */
export function hmac(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const [inner, outer] = [0x36, 0x5c].map((pad) => block.map((byte) => byte ^ pad));
  return sha256(joined(outer, sha256(joined(inner, message))));
}

/** The text that was hashed last, and its hash: a page and its client ask for that of the same plan. @type {[string, string]} */
let known = ["", ""];

/**
 * The SHA-256 of a text, in hex.
 * @param {string} text
 */
export const fingerprintOf = (text) => (known[0] === text ? known : (known = [text, toHex(sha256(utf8(text)))]))[1];

/**
 * The same by the browser itself, which is many times as fast for a long plan, where it offers that.
 * @param {string} text
 */
export async function fingerprintSoon(text) {
  const hash = await crypto.subtle?.digest("SHA-256", utf8(text));
  if (hash) known = [text, toHex(new Uint8Array(hash))];
  return fingerprintOf(text);
}
