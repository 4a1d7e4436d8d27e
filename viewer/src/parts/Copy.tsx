/** A command, with a button that copies it. */

import { useState } from "preact/hooks";

export function Copy({ text }: { text: string }) {
  const [state, setState] = useState("");
  const copy = () => {
    const done = () => setState("Copied");
    const failed = () => setState("Select the command to copy it");
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, failed);
    else failed();
  };
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={copy}>Copy</button>
      <span role="status" class="quiet small">{state}</span>
    </p>
  );
}
