// One kind: its days, and what its counts are made of.

import { large } from "./chart.js";
import { byValue, periodOf, total, within } from "./data.js";
import { el } from "./dom.js";
import { periodChoice } from "./overview.js";
import { format, go } from "./route.js";
import * as words from "./words.js";

/** How many values of a dimension are shown at first. */
const FIRST_VALUES = 8;

/** The view. */
export function detail(data, route) {
  const kind = data.kindByName.get(route.name);
  if (!kind) {
    return unknown(route);
  }
  const known = kind.dimensions.filter((dimension) => dimension.key in route.filters);
  const filters = Object.fromEntries(known.map(({ key }) => [key, route.filters[key]]));
  const here = { ...route, filters };
  const period = periodOf(data, route.days);
  const entries = within(data.entries, kind.name, period);
  const shown = within(entries, kind.name, period, filters);
  const figure = words.count(total(shown));
  const limits = known.map((dimension) => filterWords(dimension, filters[dimension.key]));
  return {
    title: kind.title,
    said: [`${kind.title}: ${figure} ${period.words}`, ...limits].join(", "),
    content: [
      el("p", { class: "back" },
        el("a", { href: format({ view: "overview", days: route.days }), "data-focus": "back" },
          "All metrics")),
      el("div", { class: "view-head" },
        el("div", {},
          el("h2", { id: "view-title", tabindex: "-1" }, kind.title),
          el("p", { class: "muted" }, kind.summary, " ", el("code", {}, kind.name))),
        periodChoice(here)),
      el("section", { class: "panel", "aria-labelledby": "over-time" },
        el("h3", { id: "over-time" }, "Over time"),
        el("p", { class: "total" }, el("span", { class: "figure", id: "total" }, figure),
          ` ${period.words}`),
        chips(known, here),
        large(kind.title, shown, period)),
      el("div", { class: "dimensions" },
        kind.dimensions.map((dimension) => breakdown(dimension, kind, entries, period, here))),
    ],
  };
}

/** The filters, each a button that removes it. */
function chips(known, route) {
  if (known.length === 0) {
    return null;
  }
  const chip = (dimension) => {
    const text = filterWords(dimension, route.filters[dimension.key]);
    return el("li", {}, el("button", {
      type: "button", class: "chip", "aria-label": `Remove the filter ${text}`,
      "data-focus": `chip:${dimension.key}`,
      click: () => go({ ...route, filters: without(route.filters, dimension.key) }),
    }, text, el("span", { class: "cross", "aria-hidden": "true" }, "\u00d7")));
  };
  return el("div", { class: "filters" },
    el("span", { class: "muted", id: "filters" }, "Only"),
    el("ul", { class: "chips", "aria-labelledby": "filters" }, known.map(chip)),
    known.length > 1 ? el("button", {
      type: "button", class: "link", click: () => go({ ...route, filters: {} }),
    }, "Remove all") : null);
}

/** A dimension: the share of each of its values, under the filters of all other dimensions. */
function breakdown(dimension, kind, entries, period, route) {
  const { key } = dimension;
  const others = within(entries, kind.name, period, without(route.filters, key));
  const sums = byValue(others, key);
  const whole = total(others);
  const most = Math.max(1, ...sums.values());
  const rows = order(dimension, sums, route.filters[key]).map((value) =>
    row(dimension, value, sums.get(value) ?? 0, { whole, most }, route));
  // What is chosen must be seen, and a button must not stand for a line or two.
  const isLong = rows.length > FIRST_VALUES + 2 && !(key in route.filters);
  const hidden = isLong ? rows.slice(FIRST_VALUES) : [];
  hidden.forEach((item) => item.setAttribute("hidden", ""));
  const id = `dimension-${key}`;
  return el("section", { class: "panel dimension", "aria-labelledby": id, "data-dimension": key },
    el("h3", { id }, words.dimension(key)),
    el("p", { class: "muted" }, dimension.summary),
    rows.length === 0 ? el("p", { class: "muted" }, "Nothing in this period.") : null,
    el("ul", { class: "values" }, rows),
    hidden.length === 0 ? null : el("button", {
      type: "button", class: "link more", click: (event) => reveal(event.currentTarget, hidden),
    }, `Show ${hidden.length} more`));
}

function reveal(button, hidden) {
  hidden.forEach((item) => item.removeAttribute("hidden"));
  hidden[0].querySelector("button")?.focus();
  button.remove();
}

/** Steps of a scale in their order, the empty ones too; anything else by its count. */
function order(dimension, sums, chosen) {
  if (words.isScale(dimension)) {
    return dimension.values.filter(
      (value) => sums.has(value) || value === chosen || (value !== "unknown" && sums.size > 0));
  }
  const values = [...sums.keys()];
  if (chosen !== undefined && !sums.has(chosen)) {
    values.push(chosen);
  }
  return values.sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || (a < b ? -1 : 1));
}

function row(dimension, value, sum, { whole, most }, route) {
  const { key } = dimension;
  const chosen = route.filters[key] === value;
  const bar = el("span", { class: "share-bar", "aria-hidden": "true" }, el("span", {}));
  bar.firstChild.style.inlineSize = `${(100 * sum) / most}%`;
  const content = [
    el("span", { class: "value-name" }, words.value(value, dimension)),
    el("span", { class: "value-count" }, words.count(sum)),
    el("span", { class: "value-share" }, words.share(sum, whole)),
    bar,
  ];
  if (sum === 0 && !chosen) {
    return el("li", { class: "value-row", "data-value": value }, content);
  }
  const filters = chosen ? without(route.filters, key) : { ...route.filters, [key]: value };
  return el("li", { "data-value": value }, el("button", {
    type: "button", class: "value-row", "aria-pressed": String(chosen),
    "data-focus": `value:${key}:${value}`, click: () => go({ ...route, filters }),
  }, content));
}

const filterWords = (dimension, value) =>
  `${words.dimension(dimension.key)}: ${words.value(value, dimension)}`;

function without(filters, key) {
  const { [key]: _, ...rest } = filters;
  return rest;
}

function unknown(route) {
  return {
    title: "No such metric",
    content: [
      el("h2", { id: "view-title", tabindex: "-1" }, "No such metric"),
      el("p", {}, "The catalogue has no metric named ", el("code", {}, route.name), ". ",
        el("a", { href: format({ view: "overview", days: route.days }) }, "All metrics")),
    ],
  };
}
