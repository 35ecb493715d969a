// How a text becomes bits: by a book of symbols, each some bytes with a code word. The document of a discovery holds its books.
//
// A text is written with the longest symbol that fits, then the longest that fits behind it, and the end mark, which is the
// empty symbol. Where a symbol ends inside a character, the lowest 6 bits of each byte that is missing follow. Each book has a word that comes first, and
// the book is taken that needs the fewest bits.

import { HALF_CHARACTER } from "../domain.js";
import { InvalidInputError } from "../errors.js";
import { fromHex, utf8 } from "../hex.js";
import { need } from "./study.js";

const LONGEST_WORD = 32;
const LONGEST_SYMBOL = 255; // bytes
const MOST_LENGTHS = 1020; // of symbols, in all books together

/** Bytes as a text with a character for each. @param {Uint8Array} bytes */
const asText = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

/**
 * A function that writes texts in these books.
 * @param {any} books
 * @param {number} mostBytes
 * @returns {(value: unknown) => string | undefined} the bits of a text; undefined if it cannot be written
 */
export function textCode(books, mostBytes) {
  const writers = books.map(writerOf);
  need(writers.length);
  return (value) => {
    if (value != null && typeof value !== "string") throw new InvalidInputError("a value is a text");
    if (value == null || HALF_CHARACTER.test(value)) return undefined;
    const bytes = asText(utf8(value));
    if (bytes.length > mostBytes) return undefined;
    /** @type {string[]} */
    const written = writers.flatMap((/** @type {(bytes: string) => string | undefined} */ write) => write(bytes) ?? []);
    return written.sort((a, b) => a.length - b.length)[0]; // of equal ones, that of the first book
  };
}

/**
 * @param {any} book its word, and the symbols in hexadecimal by the length of their code words
 * @param {number} _
 * @param {unknown[]} books all of them
 * @returns {(bytes: string) => string | undefined}
 */
function writerOf({ word, symbols }, _, books) {
  need(/^[01]{0,32}$/.test(word));
  /** @type {[string, number][]} */
  const listed = Object.entries(symbols).flatMap(([size, list]) =>
    list.map((/** @type {string} */ hex) => [asText(fromHex(hex)), Number(size)]));
  listed.sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1));
  /** The code word of each symbol: the next free one. @type {Map<string, string>} */
  const words = new Map();
  let next = 0;
  let before = 0;
  for (const [symbol, size] of listed) {
    need(size >= 1 && size <= LONGEST_WORD);
    next *= 2 ** (size - before);
    before = size;
    words.set(symbol, (next++).toString(2).padStart(size, "0"));
  }
  const longest = Math.max(...listed.map(([symbol]) => symbol.length));
  // At every symbol of a text, all lengths of all books are tried. With very many, the time would tell how long the text is.
  need(words.size === listed.length, words.has(""), next <= 2 ** before, longest <= LONGEST_SYMBOL, longest <= MOST_LENGTHS / books.length);
  return (bytes) => {
    let written = word;
    for (let at = 0; at < bytes.length; ) {
      let size = longest;
      while (size && (at + size > bytes.length || !words.has(bytes.slice(at, at + size)))) size--;
      if (!size) return undefined;
      const symbol = bytes.slice(at, (at += size));
      written += words.get(symbol);
      for (let missing = missingAfter(symbol); missing; missing--) {
        written += (bytes.charCodeAt(at++) & 63).toString(2).padStart(6, "0");
      }
    }
    return written + words.get("");
  };
}

/**
 * How many bytes are missing of the character that a symbol ends with.
 * @param {string} symbol
 */
function missingAfter(symbol) {
  const [, first, rest] = /([\xc0-\xff])([\x80-\xbf]{0,3})$/.exec(symbol) ?? [];
  return first ? Math.max(0, 1 + Number(first >= "\xe0") + Number(first >= "\xf0") - rest.length) : 0;
}
