// Whole numbers within bounds.

/**
 * @param {unknown} n
 * @param {number} least
 * @param {number} most
 * @returns {n is number} whether it is a whole number from `least` to `most`
 */
export const isWhole = (n, least, most) => Number.isInteger(n) && Number(n) >= least && Number(n) <= most;
