// A discovery: the values that nobody listed, found in rounds that each ask for a longer prefix.
//
// A round knows the first `position` bits of its candidates and asks for the next `bits`. Every extension of an open candidate,
// every finished one, every value that was known beforehand and the catch-all have one cell each, in this order.

import { InvalidInputError, PlanError, PlanMismatchError } from "../errors.js";
import { isWhole } from "../whole.js";
import { need } from "./study.js";
import { textCode } from "./text_code.js";

const PLACES = 2 ** 20;

/**
 * @param {any} document
 * @returns {import("./study.js").Kind}
 */
export function discovery({ values }) {
  const { kind, bits: width, most_bytes: mostBytes, books, known: listed = [] } = values;
  const isText = kind === "text";
  if (isText && !books) throw new PlanError("this discovery is too old");
  need(isText ? isWhole(mostBytes, 1, 2 ** 16) : kind === "keys" && isWhole(width, 1, 64), Array.isArray(listed));
  const bitsOf = isText ? textCode(books, mostBytes) : (/** @type {unknown} */ value) => bitsOfKey(value, width);
  const rowBits = isText ? Math.max(192, Math.min(8 * mostBytes, 1024)) : 8 * Math.ceil(width / 8);
  return {
    _what: "discovery",
    _places: PLACES,
    _label: "place",
    _part(round, fingerprint, plan) {
      const { position, bits, open, finished, known = 0, from, to } = round;
      if (round.discovery !== fingerprint) throw new PlanMismatchError("this part belongs to another study");
      need(round.format === "localdp-round/1", isWhole(round.round, 0, 2 ** 16), isWhole(from, 0, to - 1), isWhole(to, 1, PLACES));
      need(isWhole(position, 0, 2 ** 16), isWhole(bits, 0, 33), isListed(open, position), isListed(finished, position));
      const firstFinished = open.length * 2 ** bits;
      const firstKnown = firstFinished + finished.length;
      const catchAll = firstKnown + known;
      // Searching a list would take the longer the later a value stands in it, and whoever wrote the list could tell.
      const [places, opened, ended] = [listed, open, finished].map(placesIn);
      need(known === listed.length, plan.size === catchAll + 1, plan.other === catchAll, !plan.items);
      return {
        _first: from,
        _end: to,
        _read(value) {
          const written = bitsOf(value);
          const place = places.get(value != null && `${value}`);
          if (place !== undefined) return firstKnown + place;
          if (written === undefined) return catchAll;
          const row = written.slice(0, rowBits).padEnd(position + bits, "0");
          const prefix = hexOf(row.slice(0, position));
          const isEnded = written.length <= position;
          const candidate = (isEnded ? ended : opened).get(prefix);
          if (candidate === undefined) return catchAll;
          return isEnded ? firstFinished + candidate : candidate * 2 ** bits + (parseInt(row.slice(position, position + bits), 2) || 0);
        },
      };
    },
  };
}

/** @param {unknown[]} list */
const placesIn = (list) => new Map(list.map((value, i) => [value, i]));

/**
 * The binary digits of a key.
 * @param {unknown} value
 * @param {number} width
 */
function bitsOfKey(value, width) {
  if (value == null) return undefined;
  if (!Number.isSafeInteger(value) && typeof value !== "bigint") throw new InvalidInputError("a key is a whole number, or a BigInt");
  const key = BigInt(/** @type {number | bigint} */ (value));
  return key < 0n || key >> BigInt(width) ? undefined : key.toString(2).padStart(width, "0");
}

/**
 * Bits as hexadecimal digits of whole bytes, with zeros at the end.
 * @param {string} bits
 */
const hexOf = (bits) =>
  bits.padEnd(8 * Math.ceil(bits.length / 8), "0").replace(/.{4}/g, (digit) => parseInt(digit, 2).toString(16));

/**
 * Whether these are prefixes of so many bits, in hexadecimal and in ascending order.
 * @param {any} list
 * @param {number} position
 */
const isListed = (list, position) =>
  Array.isArray(list) &&
  list.every((text, i) => {
    if (typeof text !== "string" || !/^[0-9a-f]*$/.test(text) || (i && !(list[i - 1] < text))) return false;
    const bits = text.replace(/./g, (digit) => parseInt(digit, 16).toString(2).padStart(4, "0"));
    return text === hexOf(bits.slice(0, position)) && bits.length >= position;
  });
