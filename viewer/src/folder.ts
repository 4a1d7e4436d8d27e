/** Documents of an exported folder: JSON files and Parquet, or all of them embedded in the page. */

import type { Compared, Estimates } from "./documents";
import { comparedOf, estimatesOf } from "./rows";
import { type Documents, Failure, type Name, type Source } from "./source";
import { type About, answersOf, type StoredAnswer, type Table, trialOf } from "./stored";

interface Files {
  json(name: string): Promise<unknown>;
  table(run: string): Promise<Table>;
}

const MISSING = "This folder does not hold that page: it was exported without it.";

export class Folder implements Source {
  live = false;

  constructor(private files: Files) {}

  async document<K extends Name>(name: K, query: URLSearchParams): Promise<Documents[K]> {
    return (await this.made(name, query)) as Documents[K];
  }

  private async made(name: Name, query: URLSearchParams): Promise<unknown> {
    const run = query.get("run") ?? "0";
    switch (name) {
      case "head":
      case "profile":
        return this.files.json(name);
      case "compare":
        return comparedOf((await this.files.json(name)) as Compared, query);
      case "cell":
        return this.files.json(`cells/${run}-${query.get("key") ?? ""}`);
      case "estimates":
        return estimatesOf((await this.files.json(`estimates-${run}`)) as Estimates, query);
      case "answers":
        return answersOf(await this.files.table(run), (await this.files.json(`answers-${run}`)) as About, query);
      case "trial":
        return trialOf(await this.files.table(run), (await this.files.json(`answers-${run}`)) as About, query);
      default:
        return this.files.json(`${name}-${run}`);
    }
  }

  small(src: string): string {
    return src;
  }
}

/** Parquet is read by a script of its own, which the viewer of a server never asks for. */
const reader = async (): Promise<typeof import("./parquet")> =>
  (await import(PARQUET)) as typeof import("./parquet");

declare const PARQUET: string;

export function served(): Source {
  const tables = new Map<string, Promise<Table>>();
  return new Folder({
    async json(name) {
      const answer = await fetch(`data/${name.split("/").map(encodeURIComponent).join("/")}.json`).catch(() => null);
      if (!answer?.ok) throw new Failure(MISSING);
      return answer.json();
    },
    table(run) {
      const made = tables.get(run) ?? reader().then((parquet) => parquet.open(`data/answers-${run}.parquet`));
      tables.set(run, made);
      return made;
    },
  });
}

export function embedded(documents: Record<string, unknown>): Source {
  return new Folder({
    json(name) {
      return name in documents ? Promise.resolve(documents[name]) : Promise.reject(new Failure(MISSING));
    },
    table(run) {
      const rows = (documents[`rows-${run}`] ?? []) as StoredAnswer[];
      return Promise.resolve({
        length: rows.length,
        read: (from, until) => Promise.resolve(rows.slice(from, until)),
      });
    },
  });
}
