// Days, weeks, months and years, by the clock of the device and in UTC, so that all tabs agree. Weeks begin on Mondays.

import { InvalidInputError } from "../errors.js";
import { DAY } from "../numbers.js";

/** @typedef {"day" | "week" | "month" | "year"} Every */

/** @type {Record<string, (time: number) => number>} */
const NUMBERS = {
  day: (time) => Math.floor(time / DAY),
  week: (time) => Math.floor((time / DAY + 3) / 7), // 1970 began on a Thursday
  month: (time) => 12 * new Date(time).getUTCFullYear() + new Date(time).getUTCMonth(),
  year: (time) => Math.floor(NUMBERS.month(time) / 12),
};

/**
 * The number of the period that a time is in. Without a kind of period, all times are in one.
 * @param {Every | undefined} every
 * @param {number} [time] in milliseconds; now
 */
export function periodOf(every, time = Date.now()) {
  if (every === undefined) return 0;
  if (!Object.hasOwn(NUMBERS, every)) throw new InvalidInputError(`every is day, week, month or year, not ${every}`);
  return NUMBERS[every](time);
}

/**
 * Whether a new period has begun since. A time that lies more than a period ahead is of a clock that was wrong, and counts as
 * long ago; one that lies less far ahead does not, or a clock that is set back by an hour would let a device answer twice.
 * @param {Every | undefined} every
 * @param {number} since
 */
export function isOver(every, since) {
  const passed = periodOf(every) - periodOf(every, since);
  return passed > 0 || passed < -1;
}
