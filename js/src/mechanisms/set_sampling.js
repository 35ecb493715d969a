// Padding and sampling: every user holds a set of items, and reports one element of it by another mechanism.
//
// The device fills its set up with padding until it has `setSize` elements, and draws one of them. A set with more
// elements is not filled up. A report is then a mixture of reports of single elements, so it is as private as they are.
// With `grr` the padding is `setSize` different elements: no element is drawn with a probability above 1/setSize, and
// therefore `grr` may tell the truth more often (the Python file of the same name has the proof). With every other
// mechanism the padding is one element.

import { checkedSize } from "../domain.js";
import { itemOr } from "../item_sets.js";
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
    _permanent: (held, words) => {
      // Every set draws the same words, and no branch depends on it: both places are computed, and one of them counts.
      let place = words.below(setSize);
      const ofMany = words.scaled(held.length);
      place += +(held.length > setSize) * (ofMany - place);
      return inner._permanent(itemOr(held, place, size + different * place), words);
    },
  };
};
