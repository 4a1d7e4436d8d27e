/** Texts of models and studies: only ever text nodes, apart from the direction of what stands around them. */

import { bounded, count, visible } from "../text";

/** A short text within a line. */
export function Said({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

function Rest({ left }: { left: number }) {
  return left ? <p class="quiet small">{count(left)} more characters are not shown here.</p> : null;
}

/** A reply, as long as it is. */
export function Quote({ text, left: cut = 0 }: { text: string; left?: number }) {
  const [shown, left] = bounded(text);
  if (!text.trim()) return <p class="quiet">An empty reply.</p>;
  return (
    <>
      <blockquote dir="auto" tabindex={text.length > 600 ? 0 : undefined}>{visible(shown)}</blockquote>
      <Rest left={left + cut} />
    </>
  );
}

/** A prompt, in the letters of code. */
export function Prompt({ text, label, system = false }: { text: string; label: string; system?: boolean }) {
  const [shown, left] = bounded(text);
  return (
    <figure class="prompt">
      <figcaption class="quiet">{label}</figcaption>
      <pre class={system ? "system" : undefined} dir="auto" tabindex={0} aria-label={label}>{visible(shown)}</pre>
      <Rest left={left} />
    </figure>
  );
}
