// How long to wait after a failed upload: twice as long after every failure, with some chance in it.
//
// The pause after the k-th failure in a row lies between half and the whole of min(1 hour, 2^(k-1) seconds), so that devices which
// failed together do not come back together. A server that says how long it wants to be left alone (Retry-After) is left
// alone for that long, up to a day.

/**
 * Failures in a row; when the pause ends, by the clock, in seconds; how long it is.
 * @typedef {{ failures: number, ends: number, length: number }} Pause
 */

const LONGEST = 3_600;
const LONGEST_ASKED = 86_400;
const ROUNDING = 1e-3; // seconds that adding and subtracting the time of day may cost

/** @returns {Pause} */
export const noPause = () => ({ failures: 0, ends: 0, length: 0 });

/** A number from 0 to 1, drawn at random. */
export const chance = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

/**
 * The seconds until the next upload may be tried. If a pause seems to end later than it can (the clock went back), it is over.
 * @param {Pause} pause
 */
export function secondsLeft({ ends, length }) {
  const left = ends - Date.now() / 1000;
  return left > 0 && left <= length + ROUNDING ? left : 0;
}

/**
 * The pause after one more failure.
 * @param {Pause} before
 * @param {number} [asked] what the server wants, in seconds
 * @returns {Pause}
 */
export function pauseAfter({ failures }, asked = 0) {
  const own = Math.min(LONGEST, 2 ** failures) * (0.5 + chance() / 2);
  const length = Math.max(own, Math.min(asked, LONGEST_ASKED) * (1 + chance() / 4));
  return { failures: failures + 1, ends: Date.now() / 1000 + length, length };
}
