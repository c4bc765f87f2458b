// The packages: those that were made, what the next one would be, and each of them byte for byte.

import { Trouble, fetchText } from "./data.js";
import { el } from "./dom.js";
import { format } from "./route.js";
import { scrolling, table } from "./table.js";
import * as words from "./words.js";

const COLUMNS = [
  { label: "Day" },
  { label: "State" },
  { label: "Entries", numeric: true },
  { label: "Size", numeric: true },
  { label: "Created" },
  { label: "Package" },
  { label: "File" },
];

/** The list. */
export function packages(data, route) {
  const broken = data.packages.filter((item) => item.entries === null).length;
  const rows = data.packages.map((item) => [
    words.date(item.day),
    state(item),
    item.entries === null ? "cannot be read" : words.count(item.entries),
    words.size(item.bytes),
    item.created ? words.moment(item.created) : "not yet",
    el("a", {
      href: format({ view: "package", id: item.id, days: route.days }),
      "data-focus": `package:${item.id}`,
    }, "View ", el("code", {}, item.id.slice(0, 8))),
    el("a", { href: item.file }, "JSON", el("span", { class: "visually-hidden" },
      ` of the package of ${words.date(item.day)}`)),
  ]);
  return {
    title: "Packages",
    content: [
      el("div", { class: "view-head" },
        el("div", {},
          el("h2", { id: "view-title", tabindex: "-1" }, "Packages"),
          el("p", { class: "muted" }, "A package contains the counts of one day. It is a file in ",
            el("code", {}, data.outbox), " and never leaves this machine. Counts that are not packaged yet are listed first."))),
      broken > 0 ? el("p", { class: "note" },
        `${words.counted(broken, "package", "packages")} cannot be read; its counts are missing from every total.`) : null,
      rows.length === 0
        ? el("section", { class: "panel empty" }, el("h3", {}, "No packages yet"),
          el("p", {}, "The first package is created at the end of a day with counts, or with ", el("code", {}, "agent metrics package"), "."))
        : scrolling("Packages", table("Packages, the next one first", COLUMNS, rows, "packages"), "panel flush"),
    ],
  };
}

function state(item) {
  return item.state === "next"
    ? el("span", { class: "tag" }, "Next")
    : el("span", {}, "Created");
}

/** One package as it is in its file. */
export function onePackage(data, route) {
  const item = data.packages.find((candidate) => candidate.id === route.id);
  const back = el("p", { class: "back" },
    el("a", { href: format({ view: "packages", days: route.days }), "data-focus": "back" }, "All packages"));
  if (!item) {
    return {
      title: "No such package",
      content: [back, el("h2", { id: "view-title", tabindex: "-1" }, "No such package"),
        el("p", {}, "It may have been removed: packages are kept for a limited time.")],
    };
  }
  const title = `${item.state === "next" ? "Next package" : "Package"} of ${words.date(item.day)}`;
  const text = el("pre", { id: "package-text" }, "Reading …");
  const copied = el("span", { class: "muted", role: "status" });
  const copy = el("button", {
    type: "button", id: "copy", disabled: true, click: () => copyText(text, copied),
  }, "Copy");
  showFile(item.file, text, copy);
  return {
    title,
    content: [
      back,
      el("div", { class: "view-head" }, el("h2", { id: "view-title", tabindex: "-1" }, title)),
      el("dl", { class: "facts" },
        fact("Id", el("code", {}, item.id)),
        fact("Created", item.created ? words.moment(item.created) : "not yet; this is a preview"),
        fact("Entries", item.entries === null ? "cannot be read" : words.count(item.entries)),
        fact("Size", words.size(item.bytes))),
      el("section", { class: "panel flush", "aria-label": "Content" },
        el("div", { class: "bar-above" },
          el("a", { href: item.file }, "Open the file"), copied, copy),
        scrolling("Content of the package", text, "code-box")),
    ],
  };
}

const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

async function showFile(file, text, copy) {
  try {
    text.textContent = await fetchText(file);
    copy.disabled = false;
  } catch (error) {
    if (!(error instanceof Trouble)) {
      throw error;
    }
    text.textContent = [error.message, ...error.causes, ...error.hints].join("\n");
  }
}

async function copyText(text, copied) {
  try {
    await navigator.clipboard.writeText(text.textContent);
    copied.textContent = "Copied";
  } catch {
    // Where a page may not write to the clipboard, a person still can.
    getSelection().selectAllChildren(text);
    copied.textContent = "Selected: press Ctrl-C or \u2318-C";
  }
}
