// Numbers as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 12,345 */
export const count = (value) => whole.format(Math.round(value));

/** A number of things: 1 report, 2 reports. */
export const several = (value, name) => `${count(value)} ${name}${Math.round(value) === 1 ? "" : "s"}`;

/** A number on a scale, with about three digits that matter. */
export const figure = (value) => (value === null ? "–" : new Intl.NumberFormat("en", { maximumFractionDigits: Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1))) }).format(value));

/** A share such as 0.0123 as 1.23%. `unit` is a share that the reader should still be able to tell apart from 0. */
export function percent(share, unit = Math.abs(share) / 100) {
  const digits = unit > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(unit * 100)))) : 1;
  const text = (share * 100).toFixed(digits);
  return Number(text) ? `${text}%` : "0%";
}

/** How sure of one of two answers somebody can be who thought both equally likely: never rounded to certainty. */
export function sure(epsilon) {
  const share = 1 / (1 + Math.exp(-epsilon));
  return percent(share, Math.min(0.01, 1 - share));
}

/** A probability: never rounded to certainty. */
export function chance(value) {
  if (value > 0.999) return "over 99.9%";
  if (value < 0.001) return "under 0.1%";
  return `${(value * 100).toFixed(1)}%`;
}

/** A share for a query: at most 4 digits that matter. */
export const asked = (share) => `${Number((share * 100).toPrecision(4))}%`;

/** 2026-11-16 as 16 Nov. */
export function shortDay(day) {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** 2026-11-16 as 16 November 2026. */
export const longDay = (day) => new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** 2026-11-16T08:05:00Z as 16 Nov 2026, 08:05 UTC. */
export const moment = (text) => `${new Date(text).toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" })} UTC`;

/** The day that comes so many days after another one. */
export const nextDay = (day, more = 1) => new Date(Date.parse(`${day}T00:00:00Z`) + more * 86_400_000).toISOString().slice(0, 10);

/** A figure with its interval: "The median is 4", or "is 4 (between 3 and 5)" where that says more. */
export const within = ({ value, low, high }) => `${figure(value)}${figure(low) === figure(high) ? "" : ` (between ${figure(low)} and ${figure(high)})`}`;
/** The mean and the median of numbers, as a sentence. */
export const summedUp = ({ mean, median }) => `The median is ${within(median)}: half of the people answer that or less. The mean is ${within(mean)}.`;

/** Why some reports are not in a result yet. */
export const waitingNote = (number) => (number > 0 ? `${several(number, "report")} more wait until enough others of the same day and segment are there. ` : "");

let labels = {};
/** What people read instead of items, on the page that is shown. */
export const useLabels = (given) => { labels = given ?? {}; };

/** An item as it is shown. */
export const label = (item) => (Object.hasOwn(labels, String(item)) ? labels[String(item)] : item === "" ? "(empty text)" : String(item));
