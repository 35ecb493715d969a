// Random words from given bytes, for the golden vectors.

import { Words } from "../src/random.js";

/**
 * The words in these bytes. Reading on past the end is an error.
 * @param {Uint8Array} bytes
 */
export function tapeWords(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let read = false;
  return new Words(() => {
    if (read || bytes.length < 8) throw new Error("the random bytes are used up");
    read = true;
    return Uint32Array.from({ length: 2 * Math.floor(bytes.length / 8) }, (_, i) => view.getUint32(4 * i, true));
  });
}
