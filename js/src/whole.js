// Whole numbers within bounds.

/**
 * @param {any} n
 * @param {number} least
 * @param {number} most
 * @returns {n is number} whether it is a whole number from `least` to `most`
 */
export const isWhole = (n, least, most) => Number.isInteger(n) && n >= least && n <= most;

/**
 * Refuse anything but a whole number from 1 to `most`.
 * @param {typeof import("./errors.js").InvalidInputError} kind of error
 * @param {string} name
 * @param {unknown} n
 * @param {number} most
 * @returns {asserts n is number}
 */
export function checkWhole(kind, name, n, most) {
  if (!isWhole(n, 1, most)) throw new kind(`${name} must be a whole number from 1 to ${most}`);
}
