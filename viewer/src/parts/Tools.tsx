/** What narrows a list: search, choices of a level, pages; all of it is state of the address. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Column, Facet } from "../documents";
import { changed, go, href, type Route } from "../route";
import { count } from "../text";

export function Search({ route, label }: { route: Route; label: string }) {
  const current = route.query.get("q") ?? "";
  const [text, setText] = useState(current);
  const timer = useRef(0);
  useEffect(() => setText(current), [current]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const write = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go(changed(route, { q: value.trim() }), current !== ""), 250) as unknown as number;
  };
  return (
    <label class="tool search">
      <span>{label}</span>
      <input type="search" value={text} maxLength={200} placeholder="words, press / to begin"
        onInput={(event) => write(event.currentTarget.value)} />
    </label>
  );
}

/** A choice among the levels of a label, with how often each stands among what is left. */
export function Choice({ route, name, title, levels }: { route: Route; name: string; title: string; levels: Facet[] }) {
  const current = route.query.get(name) ?? "";
  if (levels.length < 2 && !current) return null;
  const known = levels.some(({ level }) => level === current);
  return (
    <label class={current ? "tool chosen" : "tool"}>
      <span>{title}</span>
      <select value={current} onChange={(event) => go(changed(route, { [name]: event.currentTarget.value }))}>
        <option value="">all</option>
        {current && !known && <option value={current}>{current}</option>}
        {levels.map(({ level, title: text, count: size }) => (
          <option key={level} value={level}>{text}{size !== null && ` (${count(size)})`}</option>
        ))}
      </select>
    </label>
  );
}

const NARROW = "(max-width: 720px)";
const MOST = 4;

/** Choices of many labels: the first few and those that are made stand open, the rest folds. */
export function Choices({ route, prefix, columns, facets, children }: {
  route: Route; prefix: string; columns: Column[]; facets: Record<string, Facet[]>; children?: ComponentChildren;
}) {
  const most = matchMedia(NARROW).matches ? 0 : MOST;
  const able = columns.filter(({ name }) => (facets[name]?.length ?? 0) > 1 || route.query.get(prefix + name));
  const opened = able.filter(({ name }, place) => place < most || route.query.get(prefix + name));
  const folded = able.filter((column) => !opened.includes(column));
  const choice = ({ name, title }: Column) => (
    <Choice key={name} route={route} name={prefix + name} title={title} levels={facets[name] ?? []} />
  );
  return (
    <>
      {opened.map(choice)}
      {(folded.length > 0 || children) && (
        <details class="more"><summary>More filters</summary><div>{folded.map(choice)}{children}</div></details>
      )}
    </>
  );
}

/** A way back to everything, where something is chosen. */
export function Reset({ route, keep = ["run", "runs", "sort"] }: { route: Route; keep?: string[] }) {
  const chosen = [...route.query.keys()].some((name) => !keep.includes(name) && name !== "from" && name !== "open");
  if (!chosen) return null;
  const query = Object.fromEntries(keep.map((name) => [name, route.query.get(name)]));
  return <a class="tool reset" href={href(route.page, query)}>Show all</a>;
}

export const PAGE = 50;

/** How many there are and which are shown, with the pages before and after. */
export function Pages({ route, total, size = PAGE, noun, below = false }: { route: Route; total: number | null; size?: number; noun: string; below?: boolean }) {
  const from = Math.max(Number(route.query.get("from")) || 0, 0);
  const last = Math.min(from + size, total ?? Infinity);
  const to = (start: number) => changed(route, { from: start > 0 ? start : null });
  return (
    <nav class="pages" aria-label={`Pages of ${noun}${below ? ", below them" : ""}`}>
      <span aria-live="polite">
        {total === null ? `${count(from + 1)} to ${count(last)}` : total === 0 ? `No ${noun}` : total <= size && from === 0 ? `${count(total)} ${noun}`
          : `${count(Math.min(from + 1, total))} to ${count(last)} of ${count(total)} ${noun}`}
      </span>
      {from > 0 && <a rel="prev" href={to(from - size)}>← Previous</a>}
      {(total === null || last < total) && <a rel="next" href={to(last)}>Next →</a>}
    </nav>
  );
}

/** How far a search is. */
export function Searched({ of: [seen, all], noun, pending }: { of: [number, number]; noun: string; pending: boolean }) {
  return <p class="quiet small" role="status">{count(seen)} of {count(all)} {noun} were looked through{pending ? "; the search goes on." : "."}</p>;
}

/** A head of a column that sorts by it: first falling, then rising, then as it was. */
export function SortHead({ route, column, title, quiet, number = false }:
  { route: Route; column: string; title: string; quiet?: string | undefined; number?: boolean }) {
  const sort = route.query.get("sort") ?? "";
  const state = sort === column ? "ascending" : sort === `-${column}` ? "descending" : undefined;
  const next = state === "descending" ? column : state === "ascending" ? null : number ? `-${column}` : column;
  const turned = !number && state === "ascending" ? `-${column}` : next;
  const after = !number && state === "descending" ? null : turned;
  return (
    <th scope="col" class={number ? "num" : undefined} aria-sort={state}>
      <button type="button" class="sort" onClick={() => go(changed(route, { sort: after }))}>{title}</button>
      {quiet && <span class="quiet"> {quiet}</span>}
    </th>
  );
}
