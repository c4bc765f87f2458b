// Numbers, days and names as a person reads them.

const number = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", timeZone: "UTC",
});
const dateFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
});
const momentFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
  timeZone: "UTC",
});

const DAY_MS = 86_400_000;
const UNITS = { ms: "ms", s: "s", m: "min" };

/** `12,345` */
export const count = (value) => number.format(value);

/** `12.3K`, for axes and other narrow places. */
export const compact = (value) => (value < 10_000 ? number.format(value) : short.format(value));

/** `1 entry`, `2 entries` */
export const counted = (value, one, many) => `${count(value)} ${value === 1 ? one : many}`;

/** `42%`; a share that is there is never shown as nothing, nor one that is not whole as all. */
export function share(part, whole) {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  if (percent > 0 && percent < 1) {
    return "<1%";
  }
  return `${percent < 100 ? Math.min(99, Math.round(percent)) : 100}%`;
}

/** `3.4 kB` */
export function size(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`;
}

/** The number of a day written as `2026-07-28`. */
export const dayNumber = (text) => Date.parse(`${text}T00:00:00Z`) / DAY_MS;

/** `28 Jul` */
export const day = (number) => dayFormat.format(number * DAY_MS);

/** `28 Jul 2026` */
export const date = (number) => dateFormat.format(number * DAY_MS);

/** `28 Jul 2026, 14:03 UTC` */
export const moment = (text) => `${momentFormat.format(Date.parse(text))} UTC`;

/** `28 Jul`, or `28 Jul to 3 Aug` for several days. */
export const span = (bar) =>
  bar.first === bar.last ? day(bar.first) : `${day(bar.first)} to ${day(bar.last)}`;

/** `duration_bucket` as `Duration`. */
export function dimension(key) {
  const words = key.replace(/_bucket$/, "").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** `2m_to_10m` as `2 min to 10 min`, `not_required` as `not required`; identifiers as they are. */
export function value(text, dimension) {
  if (dimension.values === null) {
    return text;
  }
  if (!isScale(dimension)) {
    return text.replaceAll("_", " ");
  }
  const [, start, end] = text.match(/^(\w+?)_to_(\w+)$/) ?? [];
  if (start) {
    return `${quantity(start)} to ${quantity(end)}`;
  }
  const [, side, bound] = text.match(/^(lt|gte)_(\w+)$/) ?? [];
  if (side) {
    return side === "lt" ? `under ${quantity(bound)}` : `${quantity(bound)} or more`;
  }
  return quantity(text);
}

/** Whether the values of a dimension are steps of a scale, which keep their order. */
export const isScale = (dimension) => dimension.key.endsWith("_bucket");

function quantity(text) {
  const [, amount, unit] = text.match(/^(\d+)(ms|s|m)?$/) ?? [];
  if (!amount) {
    return text.replaceAll("_", " ");
  }
  return unit ? `${amount}\u00a0${UNITS[unit]}` : amount;
}
