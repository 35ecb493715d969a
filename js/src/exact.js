// Exact numbers: e^epsilon as a fraction, thresholds out of 2^64, and logarithms of fractions, all with whole numbers.
//
// A plan carries its thresholds, and they decide how much a report reveals. So they are derived here again from
// epsilon, bit for bit as the Python library derives them: from a fraction that is smaller than e^epsilon by one part
// in 10^90. Python computes it with 100 decimal digits and this file with 448 binary ones, so the two could differ only
// where a threshold before rounding comes within about 10^-70 of a whole number. Even then, a plan would be
// refused, and nothing would leak.

/**
 * A fraction: the numerator, which is not below 0, and the denominator, which is above 0.
 * @typedef {readonly [bigint, bigint]} Ratio
 */

const DIGITS = 448n; // binary digits after the point
export const ONE = 1n << DIGITS;
const HALVINGS = 24n;

/**
 * A float as a whole number out of 2^448. (Digits past that are cut off: an epsilon that needs them is too small to
 * use.)
 * @param {number} x from 0 to 2^23
 */
export const fixed = (x) => BigInt(Math.floor(x * 2 ** 1000)) >> (1000n - DIGITS); // the product is exact

/**
 * e^x. The series is summed at x/2^24, where it is short, and the result is squared 24 times.
 * @param {bigint} x out of 2^448, from 0 to 16
 */
function exp(x) {
  const small = x >> HALVINGS;
  let sum = ONE;
  for (let term = small, n = 2n; term; term = ((term * small) >> DIGITS) / n++) sum += term;
  for (let i = 0n; i < HALVINGS; i++) sum = (sum * sum) >> DIGITS;
  return sum;
}

/**
 * A number just below e^epsilon, or e^(epsilon/2) if halved, out of 2^448. A ratio of at most this is epsilon-private.
 * @param {number} epsilon
 */
export function expBelow(epsilon, halved = false) {
  const e = exp(fixed(epsilon) >> (halved ? 1n : 0n));
  return e - e / 10n ** 90n;
}

/**
 * The smallest float that is not below the natural logarithm of a fraction, so that a stated epsilon is never too
 * small.
 * @param {Ratio} ratio at least 1
 */
export function logRoundedUp([numerator, denominator]) {
  const target = (numerator << DIGITS) / denominator;
  // The float that is nearest; what is missing is then a tiny logarithm, whose series is short.
  const guess = fixed(Math.log(Number(target >> (DIGITS - 64n)) / 2 ** 64));
  const rest = (target << DIGITS) / exp(guess) - ONE;
  let sum = guess;
  for (let power = rest, n = 1n; power; power = (-power * rest) / ONE) sum += power / n++;
  sum += sum / 10n ** 95n;
  const drop = BigInt(sum.toString(2).length - 53);
  return (Number(-(-sum >> drop)) * 2 ** Number(drop)) / 2 ** Number(DIGITS);
}

/**
 * @param {Ratio} one
 * @param {Ratio} other
 */
export const isAbove = (one, other) => one[0] * other[1] > other[0] * one[1];

/**
 * The candidate with the largest fraction, and the first of them if there are several.
 * @template T
 * @param {T[]} candidates
 * @param {(candidate: T) => Ratio} fraction
 */
export const largest = (candidates, fraction) =>
  candidates.reduce((best, next) => (isAbove(fraction(next), fraction(best)) ? next : best));

/**
 * The whole number nearest to a fraction, and the larger of two.
 * @param {bigint} numerator
 * @param {bigint} denominator
 */
export const rounded = (numerator, denominator) => (2n * numerator + denominator) / (2n * denominator);

/**
 * The largest threshold that is at most this fraction of 2^64.
 * @param {bigint} numerator
 * @param {bigint} denominator
 */
export const roundedDown = (numerator, denominator) => (numerator << 64n) / denominator;
