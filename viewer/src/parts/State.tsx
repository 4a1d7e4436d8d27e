/** What stands in place of a page that is on its way or cannot come. */

import type { ComponentChildren } from "preact";
import type { Loaded } from "../use";

export function Problem({ text }: { text: string }) {
  return <p class="warning" role="alert">{text}</p>;
}

/** Grey lines where text will be, of about its height. */
function Lines({ text }: { text: string | null }) {
  return (
    <div class="waiting" role="status">
      {text ? <p class="quiet">{text}</p> : <span class="hidden">Loading</span>}
      {["a", "b", "c", "d", "e", "f"].map((line) => <i key={line} aria-hidden="true" />)}
    </div>
  );
}

/** A document's page, its error, or lines while it is on its way; the one before stays, paler, until then. */
export function Ready<T>({ of, children }: { of: Loaded<T>; children: (document: T) => ComponentChildren }) {
  if (of.error) return <Problem text={of.error} />;
  if (of.document === null) return <Lines text={of.waiting} />;
  return <div class={of.loading ? "stale" : undefined} aria-busy={of.loading}>{children(of.document)}</div>;
}
