/** Shares as bars. */

import { percent } from "../text";

/** A share of one as a bar, with its number beside it. */
export function Bar({ share, text = percent(share), strong = false }: { share: number; text?: string; strong?: boolean }) {
  const width = `${Math.round(1000 * Math.min(Math.max(share, 0), 1)) / 10}%`;
  return (
    <span class="sharebar">
      <svg width="100%" height="14" aria-hidden="true">
        <rect width="100%" height="14" rx="3" class="bar" />
        <rect width={width} height="14" rx="3" class={strong ? "step in" : "step"} />
      </svg>
      <span class="num">{text}</span>
    </span>
  );
}

/** What a cluster adds, from a middle line to either side. */
export function Added({ value, most }: { value: number; most: number }) {
  const size = most > 0 ? (50 * Math.abs(value)) / most : 0;
  return (
    <svg width="100%" height="18" aria-hidden="true" class="added">
      <rect x={`${value < 0 ? 50 - size : 50}%`} y="3" width={`${size}%`} height="12" class={value < 0 ? "fall" : "rise"} />
      <line x1="50%" x2="50%" y1="0" y2="18" class="zero" />
    </svg>
  );
}
