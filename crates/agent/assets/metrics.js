// The page: reads the data once, and shows what the address asks for.

import { Trouble, load } from "./data.js";
import { detail } from "./detail.js";
import { el } from "./dom.js";
import { overview } from "./overview.js";
import { onePackage, packages } from "./packages.js";
import { format, parse } from "./route.js";
import { moment } from "./words.js";

const VIEWS = { overview, kind: detail, packages, package: onePackage };

const byId = (id) => document.getElementById(id);
const view = byId("view");

let data = null;
let shown = null;

/** Shows what the address asks for. */
function show() {
  if (data === null) {
    return;
  }
  const before = shown;
  const route = parse(location.hash);
  // Whether the focus is on something that is about to be replaced.
  const active = document.activeElement;
  const focused = view.contains(active) ? active.dataset.focus ?? "" : null;
  const unfolded = view.querySelector("details")?.open ?? false;
  const next = VIEWS[route.view](data, route);
  shown = route;
  view.replaceChildren(...next.content instanceof Node ? [next.content] : next.content.filter(Boolean));
  document.title = `${next.title} – Usage metrics`;
  markTabs(route);
  view.querySelector("details")?.toggleAttribute("open", unfolded);
  if (before !== null) {
    byId("said").textContent = next.said ?? next.title;
    keepFocus(before, route, focused);
  }
}

/** The link of the view we are in. */
function markTabs(route) {
  const inPackages = route.view.startsWith("package");
  const tabs = [["to-overview", "overview", !inPackages], ["to-packages", "packages", inPackages]];
  for (const [id, view, current] of tabs) {
    byId(id).href = format({ view, days: route.days });
    byId(id).toggleAttribute("data-current", current);
    if (route.view === view) {
      byId(id).setAttribute("aria-current", "page");
    } else {
      byId(id).removeAttribute("aria-current");
    }
  }
}

/** Leaves the keyboard where it was; in another view, at what it is about or where we came from. */
function keepFocus(before, route, focused) {
  const find = (name) => {
    const found = name && view.querySelector(`[data-focus="${CSS.escape(name)}"]`);
    return found && !found.closest("[hidden]") ? found : null;
  };
  if (before.view === route.view && before.name === route.name && before.id === route.id) {
    // What was pressed may be gone, as a removed filter is.
    if (focused !== null) {
      (find(focused) ?? byId("view-title")).focus({ preventScroll: true });
    }
    return;
  }
  scrollTo(0, 0);
  const origin = {
    overview: before.view === "kind" && `kind:${before.name}`,
    packages: before.view === "package" && `package:${before.id}`,
  }[route.view];
  (find(origin) ?? byId("view-title")).focus();
}

/** Says what went wrong and how to go on. */
function showTrouble(trouble) {
  const focused = view.contains(document.activeElement);
  const list = (items) => items.map((item) => el("li", {}, ...withCode(item)));
  view.replaceChildren(el("section", { class: "panel empty", id: "trouble", role: "alert" },
    el("h2", { id: "view-title", tabindex: "-1" }, "Cannot show the metrics"),
    el("p", {}, ...withCode(sentence(trouble.message))),
    trouble.causes.length > 0 ? el("ul", { class: "causes" }, list(trouble.causes)) : null,
    trouble.hints.length > 0
      ? [el("h3", {}, "What to do"), el("ul", { class: "hints" }, list(trouble.hints))] : null,
    el("p", {}, el("button", { type: "button", click: read }, "Try again"))));
  document.title = "Error – Usage metrics";
  if (focused) {
    byId("view-title").focus();
  }
}

/** Commands between back quotes become code. */
function withCode(text) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? el("code", {}, part) : part));
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Reads the data, now or again. */
async function read() {
  try {
    data = await load();
    byId("install-id").textContent = data.install_id;
    byId("read-at").textContent = moment(data.read_at);
    show();
  } catch (error) {
    data = null;
    showTrouble(error instanceof Trouble ? error : new Trouble({
      message: "this page has a bug", causes: [String(error)],
      hints: ["please report it with the steps that led to it"],
    }));
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // The address behind `#` says what is shown, so the link must not change it.
  event.preventDefault();
  byId("main").focus();
});
byId("read-again").addEventListener("click", read);
addEventListener("hashchange", show);
await read();
