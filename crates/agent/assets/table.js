// Tables, and the boxes they scroll in.

import { el } from "./dom.js";

/** A table; columns are `{ label, numeric }`, the first cell of each row is its heading. */
export function table(caption, columns, rows, className = null) {
  const kindOf = (at) => (columns[at].numeric ? "numeric" : null);
  const cell = (content, at) =>
    at === 0
      ? el("th", { scope: "row", class: kindOf(at) }, content)
      : el("td", { class: kindOf(at) }, content);
  return el("table", { class: className },
    el("caption", {}, caption),
    el("thead", {}, el("tr", {},
      columns.map((column, at) => el("th", { scope: "col", class: kindOf(at) }, column.label)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))));
}

/** A box in which something wide can be scrolled, by the keyboard too. */
export function scrolling(label, content, className = "") {
  return el("div", {
    class: `scrolling ${className}`, role: "region", "aria-label": label, tabindex: "0",
  }, content);
}
