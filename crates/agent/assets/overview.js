// Every kind at a glance: a card each, with its total and its days.

import { small } from "./chart.js";
import { periodOf, total, within } from "./data.js";
import { el } from "./dom.js";
import { PERIODS, format, go } from "./route.js";
import * as words from "./words.js";

const PERIOD_WORDS = { 7: "7 days", 30: "30 days", all: "All days" };

/** The view. */
export function overview(data, route) {
  if (data.days.length === 0) {
    return { title: "Overview", content: empty() };
  }
  const period = periodOf(data, route.days);
  const cards = data.kinds.map((kind) => card(data, kind, period, route));
  const none = data.days.every((item) => item.day < period.first || item.day > period.last);
  return {
    title: "Overview",
    said: `Totals ${period.words}`,
    content: [
      el("div", { class: "view-head" },
        el("div", {},
          el("h2", { id: "view-title", tabindex: "-1" }, "Overview"),
          el("p", { class: "muted" },
            `Totals ${period.words}, in UTC. Select one for details.`)),
        periodChoice(route)),
      none ? el("p", { class: "note" }, "Nothing was counted in this period. ",
        el("a", { href: format({ ...route, days: "all" }) }, "Show all days")) : null,
      el("ul", { class: "cards" }, cards),
      packageLine(data, route),
    ],
  };
}

/** The buttons that choose the period. */
export function periodChoice(route) {
  return el("div", { class: "choice", role: "group", "aria-label": "Period" },
    PERIODS.map((days) => el("button", {
      type: "button", "aria-pressed": String(days === route.days), "data-focus": `days:${days}`,
      click: () => go({ ...route, days }),
    }, PERIOD_WORDS[days])));
}

function card(data, kind, period, route) {
  const items = within(data.days, kind.name, period);
  const target = format({ view: "kind", name: kind.name, days: route.days });
  return el("li", { class: "card", "data-kind": kind.name },
    el("h3", {}, el("a", {
      href: target, "data-focus": `kind:${kind.name}`, keydown: followOnSpace,
    }, kind.title)),
    el("p", { class: "figure" }, words.count(total(items))),
    el("div", { class: "card-chart" }, small(kind.title, items, period)));
}

/** How the counts are kept, in a sentence. */
function packageLine(data, route) {
  const made = data.packages.filter((item) => item.state === "made").length;
  const next = data.packages.length - made;
  return el("p", { class: "muted line" },
    `${words.counted(made, "package", "packages")} created, ${next} pending. `,
    el("a", { href: format({ view: "packages", days: route.days }) }, "Show the packages"));
}

/** The space bar does what it does on a button. */
function followOnSpace(event) {
  if (event.key === " ") {
    event.preventDefault();
    event.currentTarget.click();
  }
}

/** What to do when there is nothing to see. */
function empty() {
  return el("section", { class: "panel empty", id: "empty" },
    el("h2", { id: "view-title", tabindex: "-1" }, "Nothing has been counted yet"),
    el("p", {}, "Recording starts when it is turned on and agent is used. Each model call, tool call and task then adds to a counter of its day."),
    el("ol", {},
      el("li", {}, el("code", {}, "agent metrics status"), " shows whether recording is on, and why."),
      el("li", {}, el("code", {}, "agent metrics on"), " turns recording on."),
      el("li", {}, "Use agent as usual, then choose ", el("em", {}, "Read again"), " below.")));
}
