/** Answers as an exported folder stores them, one row each, made into the documents of the server. */

import type { AnswerRow, Answers, Column, Facet, Picture, Reply, Trial } from "./documents";
import { counted, matches, ordered, pageOf } from "./rows";
import { Failure } from "./source";

/** Columns of `answers-RUN.parquet`; lists and objects are JSON. */
export interface StoredAnswer {
  trial: number | bigint;
  repeat: number | bigint;
  status: string;
  answer: string | null;
  why: string | null;
  reply: string;
  when: string | null;
  /** Reason for which there is no valid answer, by its name. */
  na: string | null;
  /** Levels of factors by their names, and in words. */
  levels: string;
  factors: string;
  pictures: string;
  prompt: string;
  system: string | null;
  options: string | null;
  probs: string | null;
  /** What others made of the trial; null but in its first row. */
  attention: string | null;
  judged: string | null;
  checks: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  latency_ms: number | null;
}

/** Answers of a run, in the order of their trials. */
export interface Table {
  length: number;
  read(from: number, until: number, columns?: string[]): Promise<StoredAnswer[]>;
}

/** What a folder says of a run's answers beside the rows. */
export interface About {
  factors: Column[];
  /** Counts of each level among all answers. */
  facets?: Record<string, Facet[]>;
  /** The command that shows a trial, with `{trial}` for its number. */
  command: string;
}

const LIGHT = ["trial", "repeat", "status", "answer", "why", "reply", "when", "latency_ms", "na", "levels", "factors"];
const number = (value: number | bigint | null): number | null => (value === null ? null : Number(value));
const object = <T>(text: string | null | undefined, otherwise: T): T => (text ? (JSON.parse(text) as T) : otherwise);
const levelsOf = (row: StoredAnswer) => object<Record<string, string>>(row.levels, {});
const factorsOf = (row: StoredAnswer) => object<Record<string, string>>(row.factors, {});

function rowOf(row: StoredAnswer): AnswerRow {
  const { status, answer, why, reply, when } = row;
  return {
    trial: Number(row.trial), repeat: Number(row.repeat), status, answer, why, reply, when, factors: factorsOf(row),
    pictures: object<Picture[]>(row.pictures, []),
  };
}

type Pairs = (row: StoredAnswer) => [level: string, title: string][];

/** What rows are chosen by, with the levels that a row has of it. */
function levels(about: About): [name: string, levels: Pairs][] {
  return [
    ["status", (row) => [[row.status, row.status]]],
    ["answer", (row) => (row.na === null ? [["valid", "valid"]] : [["missing", "missing"], [row.na, row.why ?? row.na]])],
    ...about.factors.map(({ name }): [string, Pairs] => [`F.${name}`, (row) => {
      const level = levelsOf(row)[name];
      return level === undefined ? [] : [[level, factorsOf(row)[name] ?? level]];
    }]),
  ];
}

function fits(row: StoredAnswer, query: URLSearchParams, choices: [string, Pairs][]): boolean {
  const [since, until, search] = ["since", "until", "q"].map((name) => query.get(name) ?? "") as [string, string, string];
  if (since && (row.when === null || row.when < since)) return false;
  if (until && (row.when === null || row.when > `${until}\uffff`)) return false;
  const has = (pairs: [string, string][], wanted: string) => pairs.some(([level]) => level === wanted);
  if (!choices.every(([name, pairs]) => !query.get(name) || has(pairs(row), query.get(name) ?? ""))) return false;
  return !search || matches(search, [row.reply, row.answer, row.why, ...Object.values(factorsOf(row))]);
}

/** A page of answers; without a filter only its rows are read, with one the columns that filters look at. */
export async function answersOf(table: Table, about: About, query: URLSearchParams): Promise<Answers> {
  const choices = levels(about);
  const names = ["q", "since", "until", "sort", ...choices.map(([name]) => name)];
  const factors = about.factors;
  if (!names.some((name) => query.get(name))) {
    const from = Math.max(Number(query.get("from")) || 0, 0);
    const rows = await table.read(from, Math.min(from + (Number(query.get("n")) || 50), table.length));
    return { total: table.length, searched: null, pending: false, factors, facets: about.facets ?? {}, rows: rows.map(rowOf) };
  }
  const all = await table.read(0, table.length, LIGHT);
  const places = all.map((row, place) => [place, row] as const).filter(([, row]) => fits(row, query, choices));
  const facets: Record<string, Facet[]> = {};
  for (const [name, pairs] of choices) {
    const without = new URLSearchParams(query);
    without.delete(name);
    const among = query.get(name) ? all.filter((row) => fits(row, without, choices)) : places.map(([, row]) => row);
    facets[name.replace(/^F\./, "")] = counted(among.flatMap(pairs));
  }
  const sort = query.get("sort");
  const sorted = sort ? ordered(places, sort, ([, row], column) => sortValue(row, column)) : places;
  const rows = await Promise.all(pageOf(sorted, query).map(async ([place]) => (await table.read(place, place + 1))[0]));
  return { total: places.length, searched: null, pending: false, factors, facets, rows: rows.filter((row) => row !== undefined).map(rowOf) };
}

function sortValue(row: StoredAnswer, column: string): string | number | null {
  switch (column) {
    case "trial":
      return Number(row.trial);
    case "when":
      return row.when;
    case "latency":
      return row.latency_ms;
    default:
      throw new Failure("Answers are sorted by trial, when or latency.");
  }
}

function replyOf(row: StoredAnswer): Reply {
  const { status, reply, answer, why, when } = row;
  return {
    repeat: Number(row.repeat), status, reply, cut: 0, answer, why, error: null, when, probs: object<Reply["probs"]>(row.probs, null),
    prompt_tokens: number(row.prompt_tokens), completion_tokens: number(row.completion_tokens),
    latency_ms: number(row.latency_ms),
  };
}

export async function trialOf(table: Table, about: About, query: URLSearchParams): Promise<Trial> {
  const trial = Number(query.get("trial"));
  const numbers = (await table.read(0, table.length, ["trial"])).map((row) => Number(row.trial));
  const [first, last] = [numbers.indexOf(trial), numbers.lastIndexOf(trial)];
  if (first < 0) throw new Failure(`This folder holds no trial ${query.get("trial") ?? ""}.`);
  const rows = await table.read(first, last + 1);
  const row = rows[0] as StoredAnswer;
  return {
    trial, factors: factorsOf(row), levels: levelsOf(row), pictures: object<Picture[]>(row.pictures, []), no_picture: "",
    prompt: row.prompt, turns: [],
    system: row.system, options: object<string[] | null>(row.options, null), replies: rows.map(replyOf), judged: object<Trial["judged"]>(row.judged, []),
    attention: object<Picture[]>(row.attention, []), checks: object<string[]>(row.checks, []), previous: numbers[first - 1] ?? null,
    next: numbers[last + 1] ?? null, command: about.command.replace("{trial}", String(trial)),
  };
}
