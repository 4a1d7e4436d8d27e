/** Hooks: the address, documents, and times. */

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { parse, type Route } from "./route";
import { type Documents, Failure, type Name, queryOf, type Source } from "./source";

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

const SOON = 2;

/** A document; while it changes the one before stays, so that nothing jumps. What is `pending` is asked for again soon. */
export function useDocument<K extends Name>(
  name: K, of: URLSearchParams, pending?: (document: Documents[K]) => boolean,
): Loaded<Documents[K]> {
  const query = queryOf(name, of);
  const source = useSource();
  const fresh = useContext(FreshContext);
  const key = `${name}?${query}#${fresh}`;
  const [state, setState] = useState<{ key: string; document: Documents[K] | null; error: string | null }>(
    { key: "", document: null, error: null });
  const ready = kept.get(key) as Documents[K] | undefined;
  useEffect(() => {
    if (state.key === key) return;
    let wanted = true;
    const settle = (document: Documents[K] | null, error: string | null) => {
      if (wanted) setState({ key, document, error });
    };
    if (ready) settle(ready, null);
    else {
      source.document(name, query).then(
        (document) => {
          keep(key, document);
          settle(document, null);
        },
        (error: unknown) => settle(null, sentence(error)),
      );
    }
    return () => {
      wanted = false;
    };
  }, [key]);
  const unfinished = state.document !== null && state.key === key && pending?.(state.document) === true;
  useEvery(SOON, unfinished, () => {
    source.document(name, query).then((document) => {
      keep(key, document);
      setState({ key, document, error: null });
    }, () => undefined);
  });
  if (ready) return { document: ready, error: null, loading: false };
  return { document: state.document, error: state.key === key ? state.error : null, loading: state.key !== key };
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
