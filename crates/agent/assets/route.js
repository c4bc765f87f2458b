// What is looked at, as the part of the address behind `#`: so that back, forward and reload work.
//
//   #/                                    every kind
//   #/kind/agent.tool_call.count?outcome=failed&days=7
//   #/packages                            every package
//   #/packages/<id>                       one of them

/** The periods one can choose. */
export const PERIODS = ["7", "30", "all"];

const DEFAULT_PERIOD = "30";

/** What the address asks for; anything that is not understood shows every kind. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const parameters = new URLSearchParams(query);
  const asked = parameters.get("days");
  const days = PERIODS.includes(asked) ? asked : DEFAULT_PERIOD;
  parameters.delete("days");
  const [view, name] = path.split("/").slice(1).map(decoded);
  if (view === "kind" && name) {
    return { view: "kind", name, days, filters: Object.fromEntries(parameters) };
  }
  if (view === "packages") {
    return name ? { view: "package", id: name, days } : { view: "packages", days };
  }
  return { view: "overview", days };
}

/** The address of a route. */
export function format(route) {
  const parameters = new URLSearchParams(route.filters ?? {});
  if (route.days !== DEFAULT_PERIOD) {
    parameters.set("days", route.days);
  }
  const path = {
    overview: () => "",
    kind: () => `kind/${encodeURIComponent(route.name)}`,
    packages: () => "packages",
    package: () => `packages/${encodeURIComponent(route.id)}`,
  }[route.view]();
  const query = parameters.toString();
  return `#/${path}${query && `?${query}`}`;
}

/** Goes there; the history keeps where we were. */
export function go(route) {
  location.hash = format(route);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
