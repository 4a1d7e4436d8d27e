/** Where documents come from: a server, or an exported folder. */

import type { Answers, Cell, Compared, Estimates, Head, Lead, Missing, Profile, Trial } from "./documents";

export interface Documents {
  head: Head;
  lead: Lead;
  profile: Profile;
  estimates: Estimates;
  cell: Cell;
  answers: Answers;
  trial: Trial;
  missing: Missing;
  compare: Compared;
}

export type Name = keyof Documents;

/** Names that the query of a document may have; those that end in a point are followed by the name of a label. */
const QUERIES: Record<Name, string[]> = {
  head: [],
  lead: ["run"],
  profile: [],
  estimates: ["run", "q", "measure", "verdict", "sort", "from", "n", "L."],
  cell: ["run", "key"],
  answers: ["run", "q", "status", "answer", "since", "until", "sort", "from", "n", "F."],
  trial: ["run", "trial"],
  missing: ["run"],
  compare: ["runs", "q", "from", "n", "F."],
};

/** What of an address's query a document is asked with. */
export function queryOf(name: Name, query: URLSearchParams): URLSearchParams {
  const fits = (key: string) => QUERIES[name].some((known) => (known.endsWith(".") ? key.startsWith(known) : key === known));
  return new URLSearchParams([...query].filter(([key]) => fits(key)));
}

export interface Source {
  document<K extends Name>(name: K, query: URLSearchParams): Promise<Documents[K]>;
  /** The address of a small version of a picture. */
  small(src: string): string;
  /** Whether documents may change while they are looked at. */
  live: boolean;
}

/** A sentence for the reader in place of a document. */
export class Failure extends Error {}

/** A sentence for the reader until a document, which is being made, is asked for again. */
export class Later extends Error {}

export class Server implements Source {
  live = true;

  async document<K extends Name>(name: K, query: URLSearchParams): Promise<Documents[K]> {
    return (await this.asked(`api/${name}${query.size ? `?${query}` : ""}`)) as Documents[K];
  }

  private async asked(address: string): Promise<unknown> {
    let answer: Response;
    try {
      answer = await fetch(address);
    } catch {
      throw new Failure("The viewer's server does not answer. Is `facevalue view` still running?");
    }
    const body: unknown = await answer.json().catch(() => null);
    const waiting = answer.status === 202 ? (body as { waiting?: unknown } | null)?.waiting : undefined;
    if (typeof waiting === "string") throw new Later(waiting);
    if (answer.ok && body !== null) return body;
    const said = (body as { error?: unknown } | null)?.error;
    if (typeof said === "string") throw new Failure(said);
    throw new Failure(
      answer.status === 403
        ? "This page is no longer allowed to ask the server: open the address that `facevalue view` printed."
        : `The server answered with status ${answer.status} and no reason.`,
    );
  }

  small(src: string): string {
    return src.startsWith("data:") ? src : `${src}${src.includes("?") ? "&" : "?"}small=1`;
  }
}
