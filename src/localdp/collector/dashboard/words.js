// Numbers as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 12,345 */
export const count = (value) => whole.format(Math.round(value));

/** A number of things: 1 report, 2 reports. */
export const several = (value, name) => `${count(value)} ${name}${Math.round(value) === 1 ? "" : "s"}`;

/** A share such as 0.0123 as 1.23%. `unit` is a share that the reader should still be able to tell apart from 0. */
export function percent(share, unit = Math.abs(share) / 100) {
  if (!share) return "0%";
  const digits = unit > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(unit * 100)))) : 1;
  return `${(share * 100).toFixed(digits)}%`.replace(/^-(0(?:\.0*)?%)$/, "$1");
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
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** The day that comes so many days after another one. */
export const nextDay = (day, more = 1) => new Date(Date.parse(`${day}T00:00:00Z`) + more * 86_400_000).toISOString().slice(0, 10);

/** An item as it is shown. */
export const label = (item) => (item === "" ? "(empty text)" : String(item));
