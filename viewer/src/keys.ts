/** The keyboard: one listener for all pages. Rows are links marked `data-row`. */

import { back, remember, type Route } from "./route";

export const KEYS: [keys: string, meaning: string][] = [
  ["/", "search"],
  ["j or ↓", "next row"],
  ["k or ↑", "previous row"],
  ["Enter", "open the row"],
  ["← and →", "previous and next trial, or page of rows"],
  ["Esc", "leave the search, or go back"],
  ["?", "this list"],
];

const rows = () => [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((row) => row.offsetParent !== null);

function move(by: number): boolean {
  const all = rows();
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
  return all.length > 0;
}

const follow = (relation: string): boolean => {
  const link = document.querySelector<HTMLElement>(`[rel="${relation}"]`);
  link?.click();
  return link !== null;
};

const writes = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.matches("input, select, textarea") || target.isContentEditable);

/** Whether the key was used; `help` opens the list of keys. */
export function press(event: KeyboardEvent, route: Route, help: () => void): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  if (writes(event.target)) {
    if (event.key !== "Escape") return false;
    (event.target as HTMLElement).blur();
    return true;
  }
  const scrolls = event.target instanceof HTMLElement && event.target.matches("pre, .scroll, blockquote, [role=group]");
  switch (event.key) {
    case "/": {
      const field = document.querySelector<HTMLInputElement>("input[type=search]");
      field?.focus();
      field?.select();
      return field !== null;
    }
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "ArrowDown":
      return !scrolls && document.activeElement?.matches("[data-row]") === true && move(1);
    case "ArrowUp":
      return !scrolls && document.activeElement?.matches("[data-row]") === true && move(-1);
    case "ArrowLeft":
      return !scrolls && follow("prev");
    case "ArrowRight":
      return !scrolls && follow("next");
    case "Escape":
      remember();
      back(route);
      return true;
    case "?":
      help();
      return true;
    default:
      return false;
  }
}
