/** A document to draw in, for tests without a browser. */

import { Window } from "happy-dom";

const window = new Window({ url: "http://127.0.0.1/" });
const names = ["document", "location", "history", "sessionStorage", "HTMLElement", "HTMLInputElement", "HashChangeEvent", "KeyboardEvent", "CSS"] as const;
for (const name of names) Object.defineProperty(globalThis, name, { value: window[name], configurable: true });
Object.assign(globalThis, {
  addEventListener: window.addEventListener.bind(window), removeEventListener: window.removeEventListener.bind(window),
  dispatchEvent: window.dispatchEvent.bind(window), matchMedia: window.matchMedia.bind(window), scrollTo: () => undefined,
  scrollY: 0, requestAnimationFrame: (call: () => void) => setTimeout(call, 0), cancelAnimationFrame: clearTimeout,
});

export const settled = (milliseconds = 300) => new Promise((resolve) => setTimeout(resolve, milliseconds));
