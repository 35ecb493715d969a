// Padding and sampling: every user holds a set of items, and reports one element of it by another mechanism.
//
// The device fills its set up with padding until it has `setSize` elements, and draws one of them. A set with more
// elements is not filled up. A report is then a mixture of reports of single elements, so it is as private as they are.
// With `grr` the padding is `setSize` different elements: no element is drawn with a probability above 1/setSize, and
// therefore `grr` may tell the truth more often (the Python file of the same name has the proof). With every other
// mechanism the padding is one element.

import { checkedSize } from "../domain.js";
import { grr } from "./grr.js";

/**
 * @param {import("./index.js").Make} make the mechanism that reports the drawn element
 * @returns {import("./index.js").Make<number[]>}
 */
export const sampled = (make) => (asked) => {
  const { size, setSize } = asked;
  const different = +(make === grr);
  const inner = make({ ...asked, size: checkedSize(size + (different ? setSize : 1)) });
  return {
    ...inner,
    permanent: (held, words) => {
      // Every set draws the same words, and no branch depends on it: both places are computed, and one of them counts.
      const count = held.length;
      let place = words.below(setSize);
      words.next();
      const ofMany = Number((words.integer * BigInt(count)) >> 64n);
      place += +(count > setSize) * (ofMany - place);
      const padding = size + different * place;
      // Past the end of a short set, held[place] is undefined, which counts as 0 and is masked.
      return inner.permanent((padding ^ (-(place < count) & (held[place] ^ padding))) >>> 0, words);
    },
  };
};
