/** The list of keys. */

import { useEffect, useRef } from "preact/hooks";
import { KEYS } from "../keys";

export function Help({ open, close }: { open: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>{KEYS.map(([keys, meaning]) => [<dt key={keys}><kbd>{keys}</kbd></dt>, <dd key={meaning}>{meaning}</dd>])}</dl>
      <button type="button" onClick={close}>Close</button>
    </dialog>
  );
}
