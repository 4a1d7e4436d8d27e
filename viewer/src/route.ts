/** Addresses of the viewer: the page and all of its state stand in the fragment, `#/answers?run=0&q=nurse`. */

export interface Route {
  page: string;
  query: URLSearchParams;
}

export function parse(fragment: string): Route {
  const text = fragment.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  return at < 0
    ? { page: text, query: new URLSearchParams() }
    : { page: text.slice(0, at), query: new URLSearchParams(text.slice(at + 1)) };
}

type Value = string | number | null | undefined;

/** The address of a page; what is null, undefined or empty is left out. */
export function href(page: string, query: Record<string, Value> | URLSearchParams = {}): string {
  const pairs = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const kept = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** The same address with some values changed; a change of what is listed starts at the first row again. */
export function changed(route: Route, changes: Record<string, Value>): string {
  const query = new URLSearchParams(route.query);
  query.delete("from");
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  return href(route.page, query);
}

/** Where the reader was on an entry of the browser's history. */
export interface Place {
  top?: number;
  focus?: string;
  depth?: number;
}

export const place = (): Place => (history.state as Place | null) ?? {};

/** Remember on this entry of the history where the reader is: how far down, and on which row. */
export function remember(): void {
  const row = document.activeElement?.closest("[data-row]")?.getAttribute("href");
  history.replaceState({ ...place(), top: scrollY, ...(row ? { focus: row } : {}) }, "");
}

/** Go to an address; `replace` leaves no entry behind, as while one types. */
export function go(address: string, replace = false): void {
  if (address === location.hash) return;
  if (replace) history.replaceState({ ...place(), top: 0 }, "", address);
  else history.pushState({ depth: (place().depth ?? 0) + 1 }, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

const PARENTS: Record<string, string> = { cell: "estimates", trial: "answers" };

/** Go to where the reader came from, or from an address opened first to the page above it. */
export function back(route: Route): void {
  if ((place().depth ?? 0) > 0) history.back();
  else if (route.page) go(href(PARENTS[route.page] ?? "", { run: route.query.get("run") }));
}
