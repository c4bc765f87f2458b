// Fetches what the page shows, and adds it up.

import { date, dayNumber } from "./words.js";

/** The most bars a chart has; longer periods are shown in steps of several days. */
const MAX_BARS = 62;

/** What went wrong, as the server or this page puts it. */
export class Trouble extends Error {
  constructor({ message, causes = [], hints = [] }) {
    super(message);
    this.causes = causes;
    this.hints = hints;
  }
}

/** The text of a file of this page. */
export async function fetchText(path) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store" });
  } catch {
    throw new Trouble({
      message: "the program that serves this page has stopped",
      hints: ["run `agent metrics view` again and open the URL it prints"],
    });
  }
  const text = await response.text();
  if (!response.ok) {
    throw troubleIn(text, response.status);
  }
  return text;
}

function troubleIn(text, status) {
  try {
    return new Trouble(JSON.parse(text).error);
  } catch {
    return new Trouble({ message: `the program returned status ${status}` });
  }
}

/** All that was counted, ready to be added up. */
export async function load() {
  const data = JSON.parse(await fetchText("data.json"));
  for (const list of [data.days, data.entries, data.packages]) {
    for (const item of list) {
      item.day = dayNumber(item.day);
    }
  }
  data.today = dayNumber(data.today);
  data.kindByName = new Map(data.kinds.map((kind) => [kind.name, kind]));
  return data;
}

/** The days that are shown, first and last, and how to say it. */
export function periodOf(data, choice) {
  if (choice !== "all") {
    const length = Number(choice);
    const first = data.today - length + 1;
    return { first, last: data.today, words: `in the last ${length} days` };
  }
  // A clock that was wrong may have left days ahead of today.
  const first = data.days.reduce((least, item) => Math.min(least, item.day), data.today - 6);
  const last = data.days.reduce((most, item) => Math.max(most, item.day), data.today);
  return { first, last, words: `from ${date(first)} to ${date(last)}` };
}

/** Those items that lie in the period and satisfy the filters. */
export function within(items, kind, period, filters = {}) {
  const wanted = Object.entries(filters);
  return items.filter(
    (item) =>
      item.kind === kind &&
      item.day >= period.first &&
      item.day <= period.last &&
      wanted.every(([key, value]) => item.dimensions[key] === value),
  );
}

/** The sum of the items. */
export const total = (items) => items.reduce((sum, item) => sum + item.value, 0);

/** The items as bars from the first day to the last, each of one day or of several. */
export function bars(items, period) {
  const length = period.last - period.first + 1;
  const step = stepFor(length);
  const result = Array.from({ length: Math.ceil(length / step) }, (_, at) => {
    const first = period.first + at * step;
    return { first, last: Math.min(first + step - 1, period.last), value: 0 };
  });
  for (const item of items) {
    result[Math.floor((item.day - period.first) / step)].value += item.value;
  }
  return result;
}

function stepFor(length) {
  if (length <= MAX_BARS) {
    return 1;
  }
  // Whole weeks are easier to read than any other number of days.
  return Math.ceil(length / MAX_BARS / 7) * 7;
}

/** The period of a bar: `per day`, `per 7 days`. */
export function stepWords(list) {
  const length = list[0].last - list[0].first + 1;
  return length === 1 ? "per day" : `per ${length} days`;
}

/** The sums by value of a dimension. */
export function byValue(items, key) {
  const sums = new Map();
  for (const item of items) {
    const value = item.dimensions[key];
    sums.set(value, (sums.get(value) ?? 0) + item.value);
  }
  return sums;
}

/** The highest bar; nothing where all are empty. */
export function peak(list) {
  const highest = list.reduce((most, bar) => (bar.value > most.value ? bar : most));
  return highest.value === 0 ? null : highest;
}
