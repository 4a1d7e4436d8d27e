/** Estimates filtered, sorted and counted in the page, as the server does it where there is one. */

import type { Compared, ComparedRow, Estimates, Facet, Row } from "./documents";

const WORDS = /\s+/;

/** Whether all words of a search stand somewhere in the texts. */
export function matches(search: string, texts: (string | null)[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return search.toLowerCase().split(WORDS).every((word) => all.includes(word));
}

export function pageOf<T>(rows: T[], query: URLSearchParams, most = 50): T[] {
  const from = Math.max(Number(query.get("from")) || 0, 0);
  return rows.slice(from, from + (Number(query.get("n")) || most));
}

/** How often each level stands among values, the most frequent first. */
export function counted(pairs: Iterable<[level: string, title: string]>): Facet[] {
  const counts = new Map<string, Facet>();
  for (const [level, title] of pairs) {
    const facet = counts.get(level);
    if (facet) facet.count = (facet.count ?? 0) + 1;
    else counts.set(level, { level, title, count: 1 });
  }
  return [...counts.values()].sort((a, b) => (b.count ?? 0) - (a.count ?? 0));
}

/** Compare values, with what is missing last whichever way they are sorted. */
export function ordered<T>(rows: T[], sort: string, value: (row: T, column: string) => string | number | null): T[] {
  const down = sort.startsWith("-");
  const column = down ? sort.slice(1) : sort;
  const keyed = rows.map((row) => [value(row, column), row] as const);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const order = a < b ? -1 : a > b ? 1 : 0;
    return down ? -order : order;
  });
  return keyed.map(([, row]) => row);
}

/** Trials side by side, as many as a folder holds; levels of factors are called by their titles there. */
export function comparedOf(all: Compared, query: URLSearchParams): Compared {
  const search = query.get("q") ?? "";
  const searched = search ? all.rows.filter((row) => matches(search, [row.prompt])) : all.rows;
  const fits = (row: ComparedRow, but?: string) =>
    all.factors.every(({ name }) => name === but || !query.get(`F.${name}`) || row.factors[name] === query.get(`F.${name}`));
  const facets: Record<string, Facet[]> = {};
  for (const { name } of all.factors) {
    const titles = searched.filter((row) => fits(row, name)).map((row) => row.factors[name]);
    facets[name] = counted(titles.filter((title) => title !== undefined).map((title) => [title, title]));
  }
  const rows = searched.filter((row) => fits(row));
  return { ...all, facets, total: rows.length, rows: pageOf(rows, query) };
}

function sortValue(row: Row, column: string): string | number | null {
  switch (column) {
    case "value":
    case "n":
    case "clusters":
    case "p":
      return row[column];
    case "measure":
    case "verdict":
      return row[column];
    default:
      return row.labels[column]?.title ?? row.title;
  }
}

type Choice = [name: string, level: (row: Row) => [string, string] | null];

export function estimatesOf(all: Estimates, query: URLSearchParams): Estimates {
  const titles = new Map(all.measures.map(({ level, title }) => [level, title]));
  const choices: Choice[] = [
    ["measure", (row) => [row.measure, titles.get(row.measure) ?? row.measure]],
    ["verdict", (row) => (row.verdict === null ? null : [row.verdict, row.verdict])],
    ...all.labels.map(({ name }): Choice => [
      `L.${name}`, (row) => (row.labels[name] ? [row.labels[name].level, row.labels[name].title] : null),
    ]),
  ];
  const search = query.get("q") ?? "";
  const searched = search
    ? all.rows.filter((row) => matches(search, [row.title, row.verdict, row.caveat, ...Object.values(row.labels).map((l) => l.title)]))
    : all.rows;
  const chosen = (row: Row, but?: string) =>
    choices.every(([name, level]) => name === but || !query.get(name) || level(row)?.[0] === query.get(name));
  const facets: Record<string, Facet[]> = {};
  for (const [name, level] of choices) {
    const pairs = searched.filter((row) => chosen(row, name)).map(level).filter((pair) => pair !== null);
    facets[name.replace(/^L\./, "")] = counted(pairs);
  }
  const kept = searched.filter((row) => chosen(row));
  const sort = query.get("sort");
  const rows = sort ? ordered(kept, sort, sortValue) : kept;
  return { ...all, total: kept.length, facets, rows: pageOf(rows, query) };
}
