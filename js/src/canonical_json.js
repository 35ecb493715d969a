// Canonical JSON: every value has exactly one text, so a fingerprint is the same in every language.

/**
 * The canonical text of a value as it occurs in a plan: keys sorted and no spaces, strings and numbers as
 * `JSON.stringify` writes them, and big integers as text. Keys of plans are ASCII, for which all orders agree; a list
 * holds objects only, or none.
 * @param {any} value
 * @returns {string}
 */
export function canonical(value) {
  if (Array.isArray(value) && isObject(value[0])) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(typeof value === "bigint" ? `${value}` : value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${pairs.join(",")}}`;
}

/**
 * The number of keys in a text, each as often as it is there: that of the colons outside of strings.
 * @param {string} text
 */
export const countKeys = (text) => text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>} whether it is a JSON object
 */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
