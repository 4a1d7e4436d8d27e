/** Pictures that were shown, with their captions. */

import type { Picture } from "../documents";
import { useSource } from "../use";
import { Said } from "./Text";

/** Small pictures in a row; beside a caption that is read anyway their own captions are left out. */
export function Thumbs({ of, most = 4, captions = false }: { of: Picture[]; most?: number; captions?: boolean }) {
  const source = useSource();
  if (!of.length) return null;
  return (
    <span class="minis">
      {of.slice(0, most).map((picture, place) => (
        <span key={place} class="mini">
          <img src={source.small(picture.src)} alt={captions ? "" : picture.caption} title={picture.caption}
            loading="lazy" width={64} height={64} />
          {captions && <small><Said text={picture.caption} /></small>}
        </span>
      ))}
      {of.length > most && <span class="quiet small">+{of.length - most}</span>}
    </span>
  );
}

const NARROWEST = 140;
const WIDEST = 420;

/** Pictures as large as there is room, side by side; each opens by itself. */
export function Shown({ of }: { of: Picture[] }) {
  return (
    <div class="showns">
      {of.map((picture, place) => (
        <figure key={place} style={{ maxWidth: `${Math.min(Math.max(picture.width ?? WIDEST, NARROWEST), WIDEST)}px` }}>
          <a href={picture.src} target="_blank" rel="noopener">
            <img src={picture.src} alt={picture.caption || `Picture ${place + 1}`} width={picture.width ?? undefined}
              height={picture.height ?? undefined} />
          </a>
          <figcaption class="quiet"><Said text={picture.caption || `Picture ${place + 1}`} /></figcaption>
        </figure>
      ))}
    </div>
  );
}
