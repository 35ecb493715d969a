// AES-128 (FIPS 197), encryption only, with one table. The browser's own is asynchronous.

const SBOX = new Uint8Array(256);
const TABLE = new Int32Array(256); // SubBytes and MixColumns of one byte in row 0, as the column that it adds to

/**
 * A byte times X, in the field of AES.
 * @param {number} byte
 */
const doubled = (byte) => (byte << 1) ^ ((byte >> 7) * 0x11b);

const powers = [1]; // of 3, which run through all nonzero elements
for (let i = 1; i < 255; i++) powers[i] = powers[i - 1] ^ doubled(powers[i - 1]);
powers.forEach((power, i) => {
  const inverse = powers[(255 - i) % 255] * 0x101; // two copies side by side, so that a shift turns the byte
  SBOX[power] = inverse ^ (inverse >> 4) ^ (inverse >> 5) ^ (inverse >> 6) ^ (inverse >> 7) ^ 0x63;
});
SBOX[0] = 0x63;
SBOX.forEach((byte, i) => {
  const twice = doubled(byte);
  TABLE[i] = (twice << 24) | (byte << 16) | (byte << 8) | (twice ^ byte);
});

/**
 * @param {number} word
 * @param {number} by
 */
const turnedRight = (word, by) => (word >>> by) | (word << (32 - by));

/**
 * SubBytes of one byte of each of these columns: of those that ShiftRows takes, or all of the same one.
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
const substitute = (a, b, c, d) =>
  (SBOX[a >>> 24] << 24) | (SBOX[(b >>> 16) & 255] << 16) | (SBOX[(c >>> 8) & 255] << 8) | SBOX[d & 255];

/**
 * @param {Uint8Array} key 16 bytes
 * @returns {Int32Array} the 44 words of the key schedule
 */
export function expandKey(key) {
  const words = new Int32Array(44);
  for (let i = 0; i < 16; i++) words[i >> 2] |= key[i] << (24 - 8 * (i & 3));
  for (let i = 4, constant = 1; i < 44; i++) {
    let word = words[i - 1];
    if (i % 4 === 0) {
      word = turnedRight(substitute(word, word, word, word), 24) ^ (constant << 24);
      constant = doubled(constant);
    }
    words[i] = words[i - 4] ^ word;
  }
  return words;
}

/**
 * Encrypt one block.
 * @param {Int32Array} keys from `expandKey`
 * @param {Int32Array} block four words, big-endian; the result is written there
 */
export function encrypt(keys, block) {
  let a = block[0] ^ keys[0];
  let b = block[1] ^ keys[1];
  let c = block[2] ^ keys[2];
  let d = block[3] ^ keys[3];
  for (let at = 4; at < 40; at += 4) {
    const e = column(a, b, c, d) ^ keys[at];
    const f = column(b, c, d, a) ^ keys[at + 1];
    const g = column(c, d, a, b) ^ keys[at + 2];
    d = column(d, a, b, c) ^ keys[at + 3];
    a = e;
    b = f;
    c = g;
  }
  // The last round does not mix.
  block[0] = substitute(a, b, c, d) ^ keys[40];
  block[1] = substitute(b, c, d, a) ^ keys[41];
  block[2] = substitute(c, d, a, b) ^ keys[42];
  block[3] = substitute(d, a, b, c) ^ keys[43];
}

/**
 * One column after a round: ShiftRows takes one byte of each of these columns.
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
function column(a, b, c, d) {
  return (
    TABLE[a >>> 24] ^
    turnedRight(TABLE[(b >>> 16) & 255], 8) ^
    turnedRight(TABLE[(c >>> 8) & 255], 16) ^
    turnedRight(TABLE[d & 255], 24)
  );
}
