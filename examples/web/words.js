// What a plan means for a person, in plain words and round numbers.

/**
 * How often the device would send each answer, for somebody who holds `held`. Under grr a device tells the truth with one
 * probability, and else draws from all answers alike.
 */
export function chances({ items, truth }, held) {
  const drawn = (1 - truth) / items.length;
  return items.map((item) => ({ item, share: drawn + (item === held ? truth : 0) }));
}

/** A share as people say it: 40% */
export const percent = (share) => `${Math.round(100 * share)}%`;

/**
 * How sure somebody can become who sees everything that was sent, and thought all answers equally likely before. Epsilon
 * bounds the factor by which the odds can change, whatever they knew.
 */
export function sureness(epsilon, size) {
  const factor = Math.exp(epsilon);
  return { factor, before: 1 / size, after: factor / (factor + size - 1) };
}

/** 2.7, and 1.05: two digits that say something */
export const rounded = (number) => String(Number(number.toPrecision(number < 1.1 ? 3 : 2)));
