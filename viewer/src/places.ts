/** Where the reader is: links that keep the history, and the way back to the row and the line one came from. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { go, href, place, type Place, remember, type Route } from "./route";

/** Links within the viewer go by `go`, so that each entry of the history knows how deep it is. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a[href^="#/"]');
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  remember();
  go(link.getAttribute("href") ?? "");
}

/** Remember where the reader is on each entry of the history; on a new page begin at its top and its heading. */
export function usePlaces(route: Route): void {
  const address = href(route.page, route.query);
  const page = useRef(route.page);
  const arrived = useRef<Place | null>(null);
  useEffect(() => {
    history.scrollRestoration = "manual";
    let timer = 0;
    const save = () => {
      clearTimeout(timer);
      timer = setTimeout(remember, 120) as unknown as number;
    };
    const arrive = () => {
      clearTimeout(timer);  // else the place on the page that was left would be remembered for this one
      arrived.current = place();
    };
    addEventListener("popstate", arrive);
    addEventListener("scroll", save, { passive: true });
    addEventListener("focusin", save);
    return () => {
      removeEventListener("popstate", arrive);
      removeEventListener("scroll", save);
      removeEventListener("focusin", save);
    };
  }, []);
  // With the page itself, not a frame later: a key pressed in between would lose its focus to the row.
  useLayoutEffect(() => {
    const { top, focus } = arrived.current ?? place();
    arrived.current = null;
    const moved = page.current !== route.page;
    page.current = route.page;
    if (top !== undefined || focus) {
      scrollTo(0, top ?? 0);
      if (focus) document.querySelector<HTMLElement>(`[data-row][href="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    } else if (moved) {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
    }
  }, [address]);
}
