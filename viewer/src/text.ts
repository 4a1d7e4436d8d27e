/** Texts and numbers as the report writes them. */

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Control characters and marks of direction by their code, as `facevalue.printable` spells them. */
export function visible(text: string): string {
  return text.replace(CONTROL, (mark) => {
    const code = mark.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** The title of an estimate without that of its measure, which stands above it. */
export const within = (title: string, measure: string): string =>
  title.startsWith(`${measure}: `) ? title.slice(measure.length + 2) : title;

const LONGEST = 50_000;

/** The beginning of a text that is too long for a page, and what was left out. */
export function bounded(text: string, longest = LONGEST): [text: string, left: number] {
  return text.length > longest ? [text.slice(0, longest), text.length - longest] : [text, 0];
}

export const count = (value: number | null): string => (value === null ? "–" : value.toLocaleString("en-US"));

export function percent(share: number): string {
  const points = 100 * share;
  if (points > 0 && points < 0.1) return "< .1%";
  return `${points >= 9.95 || points === 0 ? points.toFixed(0) : points.toFixed(1)}%`;
}

/** What a trial is of, each word once. */
export const words = (factors: Record<string, string>): string => [...new Set(Object.values(factors))].join(" · ");

/** "2 answers", "1 answer". */
export const several = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`;

export function lasting(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A moment without its seconds: "2026-11-26 14:10". */
export const moment = (when: string): string => when.replace("T", " ").slice(0, 16);
