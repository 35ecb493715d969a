// Reports as strings of bits: the first bit is the lowest bit of the first byte, and unused bits at the end are zero.

/** @param {number} bits */
export const byteLength = (bits) => Math.ceil(bits / 8);

/**
 * The number of binary digits of a whole number.
 * @param {number} n from 0 to 2^53 - 1
 */
export const bitLength = (n) => (n ? n.toString(2).length : 0);

/**
 * Numbers that follow each other from the first bit on.
 * @param {[number, number][]} fields each number with its width in bits, at most 32
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromFields(fields) {
  const bytes = new Uint8Array(byteLength(fields.reduce((sum, [, width]) => sum + width, 0)));
  let at = 0;
  for (const [number, width] of fields) write(bytes, (at += width) - width, number, width);
  return bytes;
}

/**
 * Write a number into `width` bits from bit `at` on, which are 0.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} number
 * @param {number} width at most 32
 */
export function write(bytes, at, number, width) {
  for (let i = 0; i < width; i++, at++) bytes[at >> 3] |= ((number >>> i) & 1) << (at & 7);
}

/**
 * The number in `width` bits from bit `at` on.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} width at most 32
 */
export function field(bytes, at, width) {
  let number = 0;
  for (let i = 0; i < width; i++, at++) number |= ((bytes[at >> 3] >> (at & 7)) & 1) << i;
  return number >>> 0;
}
