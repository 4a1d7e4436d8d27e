/** Documents of the server and of exported folders: one type for each answer of `src/facevalue/view`. */

export interface Picture {
  src: string;
  /** Text that describes it, for those who don't see it. */
  caption: string;
  width: number | null;
  height: number | null;
}

export interface Progress {
  stored: number;
  total: number;
  errors: number;
  /** Answers a second. */
  rate: number | null;
  /** Seconds to go. */
  eta_s: number | null;
  /** Share of replies without a valid answer, in words. */
  na: { group: string; share: string }[];
}

export interface Run {
  /** Place among the runs that the viewer shows, as a text. */
  run: string;
  label: string;
  study: string;
  study_title: string;
  model: string;
  when: string | null;
  complete: boolean;
  /** The run as it is ("plain"), and its interventions; empty where it has none. */
  interventions: Column[];
  progress: Progress | null;
}

export interface Head {
  version: string;
  title: string;
  audit: boolean;
  content_note: string | null;
  /** What must be read with pictures that are no photographs, or are left out. */
  illustrated: string | null;
  /** What an exported folder leaves out. */
  note?: string | null;
  runs: Run[];
}

export interface Lead {
  /** `no_picture`: why none is shown; `pending`: the question is being looked up. */
  asked: { prompt: string; pictures: Picture[]; no_picture: string; facts: string[]; pending?: boolean };
  /** The answer in a word or two, and how it looks: "found", "equal", "nothing" or "unknown". */
  verdict?: string;
  look?: string;
  sentences: string[];
  /** What must be known beside the answer. */
  more: string[];
  cautions: string[];
  provisional: boolean;
}

export interface Square {
  kind: string;
  /** Name of its sign, as in the marks of the profile. */
  mark: string;
  symbol: string;
  text: string;
  reading: string;
  /** Whether it was found on the study's own page alone. */
  page_only: boolean;
  run: string | null;
  key: string | null;
}

export interface ProfileGroup {
  model: string;
  dimension: string;
  group: string;
  title: string;
  squares: Square[];
}

export interface Profile {
  sentences: string[];
  marks: { mark: string; symbol: string; meaning: string }[];
  kinds: { id: string; study: string; title: string }[];
  groups: ProfileGroup[];
  notes: string[];
}

/** A label or factor, and its wording. */
export interface Column {
  name: string;
  title: string;
}

export interface Level {
  level: string;
  title: string;
}

export interface Scale {
  min: number;
  max: number;
  zero: number | null;
  ticks?: { at: number; text: string }[];
}

export interface Row {
  key: string;
  measure: string;
  title: string;
  labels: Record<string, Level>;
  value: number | null;
  low: number | null;
  high: number | null;
  /** Interval at the level at which the page judges. */
  page_low: number | null;
  page_high: number | null;
  level: number | null;
  n: number | null;
  clusters: number | null;
  unit: string;
  p: number | null;
  /** Where 95 of 100 would lie without any effect. */
  floor: number | null;
  verdict: string | null;
  /** What else could explain the verdict; empty for nothing. */
  caveat: string;
  text: { value: string; interval: string; p: string };
  scale: Scale | null;
}

export interface Facet extends Level {
  /** Null where they were not counted. */
  count: number | null;
}

export interface Estimates {
  total: number;
  labels: Column[];
  measures: Level[];
  facets: Record<string, Facet[]>;
  rows: Row[];
}

export interface Step {
  title: string;
  text: string;
  table: { heads: string[]; rows: string[][] } | null;
}

export interface ClusterRow {
  cluster: string;
  title: string;
  value: number | null;
  /** What the estimate would move by without it. */
  added: number | null;
  n: number | null;
  /** What it adds, as the report writes numbers of the measure. */
  text: string;
  trials: number[];
  pictures: Picture[];
}

export interface Cell {
  row: Row;
  definition: { title: string; equation: string; source: string };
  steps: Step[];
  /** `pending`: they are being added up, and must be asked for again. */
  cluster: { title: string; total: number; pending: boolean; note: string; rows: ClusterRow[] };
  /** Query of the answers at the levels of its labels. */
  behind: string;
}

export interface AnswerRow {
  trial: number;
  repeat: number;
  factors: Record<string, string>;
  status: string;
  answer: string | null;
  /** Why there is no valid answer. */
  why: string | null;
  reply: string;
  pictures: Picture[];
  when: string | null;
}

export interface Answers {
  /** Null where only some replies could be looked through: `searched` says how many of how many. */
  total: number | null;
  searched: [number, number] | null;
  /** Whether the search goes on: it must be asked for again. */
  pending: boolean;
  factors: Column[];
  facets: Record<string, Facet[]>;
  rows: AnswerRow[];
}

export interface Reply {
  repeat: number;
  status: string;
  reply: string;
  /** Characters of the reply that are left out. */
  cut: number;
  answer: string | null;
  why: string | null;
  /** Why the request failed. */
  error: string | null;
  probs: { option: string; share: number }[] | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  latency_ms: number | null;
  when: string | null;
}

export interface Trial {
  trial: number;
  factors: Record<string, string>;
  /** The same by their names, of which answers are chosen. */
  levels: Record<string, string>;
  pictures: Picture[];
  /** Why no picture is shown; empty where there are some. */
  no_picture: string;
  prompt: string;
  system: string | null;
  /** What was said before the prompt. */
  turns: { role: string; text: string }[];
  options: string[] | null;
  replies: Reply[];
  judged: { by: string; text: string }[];
  attention: Picture[];
  checks: string[];
  previous: number | null;
  next: number | null;
  command: string;
}

export interface GroupShare {
  label: string;
  level: string;
  title: string;
  share: number | null;
  of: number | null;
  /** The share with its interval, as the report writes it. */
  text: string;
}

export interface Reason {
  status: string;
  title: string;
  count: number;
  share: number;
  groups: GroupShare[];
  examples: { trial: number; repeat: number; reply: string }[];
}

export interface Missing {
  total: number;
  /** Replies are being looked for: they must be asked for again. */
  pending: boolean;
  groups: GroupShare[];
  reasons: Reason[];
}

export interface ComparedRow {
  trial: number;
  factors: Record<string, string>;
  pictures: Picture[];
  prompt: string;
  /** Of each side; prompt and pictures where these are others than the first side's. */
  replies: {
    side: string; trial: number; repeat: number; answer: string | null; why: string | null; reply: string; status: string;
    prompt: string | null; pictures: Picture[];
  }[];
  flipped: boolean;
  shift: number | null;
}

export interface Compared {
  sentences: string[];
  /** Runs, as they are or with an intervention; `side` is what the query calls them. */
  sides: { side: string; run: string; title: string }[];
  factors: Column[];
  facets: Record<string, Facet[]>;
  /** Null where only some were looked through: `searched` says how many of how many. */
  total: number | null;
  searched?: [number, number] | null;
  /** Whether the search goes on: it must be asked for again. */
  pending?: boolean;
  rows: ComparedRow[];
}
