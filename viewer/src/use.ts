/** Hooks: the address, documents, and times. */

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { parse, type Route } from "./route";
import { type Documents, Failure, Later, type Name, queryOf, type Source } from "./source";

export const SourceContext = createContext<Source | null>(null);
/** A number that grows when documents must be asked for again. */
export const FreshContext = createContext(0);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("no source of documents");
  return source;
}

export function useRoute(): Route {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const follow = () => setFragment(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parse(fragment);
}

export interface Loaded<T> {
  document: T | null;
  error: string | null;
  /** What is done until the document is there, which takes a while. */
  waiting: string | null;
  /** Whether another document than the one that is there is on its way. */
  loading: boolean;
}

const MOST = 60;
const kept = new Map<string, unknown>();

function keep(key: string, document: unknown): void {
  kept.delete(key);
  kept.set(key, document);
  const oldest = kept.keys().next().value;
  if (kept.size > MOST && oldest !== undefined) kept.delete(oldest);
}

export const forget = () => kept.clear();

function sentence(error: unknown): string {
  if (error instanceof Failure) return error.message;
  console.error(error);
  return "This page could not be made of what was sent. Reload it to try again.";
}

const SOON = 1;

interface State<T> {
  key: string;
  document: T | null;
  error: string | null;
  waiting: string | null;
}

/** A document; while it changes the one before stays, so that nothing jumps. What is `pending` is asked for again soon. */
export function useDocument<K extends Name>(
  name: K, of: URLSearchParams, pending?: (document: Documents[K]) => boolean,
): Loaded<Documents[K]> {
  const query = queryOf(name, of);
  const source = useSource();
  const fresh = useContext(FreshContext);
  const key = `${name}?${query}#${fresh}`;
  const [state, setState] = useState<State<Documents[K]>>({ key: "", document: null, error: null, waiting: null });
  const ready = kept.get(key) as Documents[K] | undefined;
  const ask = () => source.document(name, query).then(
    (document): State<Documents[K]> => {
      keep(key, document);
      return { key, document, error: null, waiting: null };
    },
    (error: unknown): State<Documents[K]> =>
      error instanceof Later ? { key, document: null, error: null, waiting: error.message }
        : { key, document: null, error: sentence(error), waiting: null },
  );
  useEffect(() => {
    if (state.key === key) return;
    let wanted = true;
    const settle = (next: State<Documents[K]>) => {
      if (wanted) setState(next);
    };
    if (ready) settle({ key, document: ready, error: null, waiting: null });
    else ask().then(settle);
    return () => {
      wanted = false;
    };
  }, [key]);
  const current = state.key === key;
  const unfinished = current && (state.waiting !== null || (state.document !== null && pending?.(state.document) === true));
  useEvery(SOON, unfinished, () => void ask().then((next) => {
    setState((now) => (now.key === key ? next : now));
  }));
  if (ready) return { document: ready, error: null, waiting: null, loading: false };
  return { document: state.document, error: current ? state.error : null, waiting: current ? state.waiting : null, loading: !current };
}

/** Ask for a document that is likely wanted next. */
export function useNext<K extends Name>(name: K, query: URLSearchParams | null): void {
  const source = useSource();
  const fresh = useContext(FreshContext);
  const key = query && `${name}?${query}#${fresh}`;
  useEffect(() => {
    if (key && query && !kept.has(key)) source.document(name, query).then((document) => keep(key, document), () => undefined);
  }, [key]);
}

/** Call something every so many seconds while it is wanted. */
export function useEvery(seconds: number, wanted: boolean, call: () => void): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!wanted) return;
    const timer = setInterval(() => latest.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds, wanted]);
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · FaceValue`;
  }, [title]);
}
