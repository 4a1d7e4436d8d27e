/** The content note: before anything else, once a visit. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Head } from "../documents";

const key = (head: Head) => `facevalue-note:${head.title}:${head.content_note}`;

function read(name: string): boolean {
  try {
    return sessionStorage.getItem(name) !== null;
  } catch {
    return false;
  }
}

function write(name: string): void {
  try {
    sessionStorage.setItem(name, "read");
  } catch {
    // A browser that keeps nothing shows the note again.
  }
}

export function Noted({ head, children }: { head: Head; children: ComponentChildren }) {
  const [passed, setPassed] = useState(head.content_note === null || read(key(head)));
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!passed) button.current?.focus();
  }, [passed]);
  if (passed) return <>{children}</>;
  return (
    <main class="note" aria-labelledby="note-title">
      <p class="brand">FaceValue</p>
      <h1 id="note-title">Before you look</h1>
      <p>{head.content_note}</p>
      <p>
        <button type="button" class="primary" ref={button} onClick={() => {
          write(key(head));
          setPassed(true);
        }}>Show {head.title}</button>
      </p>
    </main>
  );
}
