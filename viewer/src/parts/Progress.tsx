/** How far a run is that goes on while one looks. */

import type { Run } from "../documents";
import { count, lasting, percent, several } from "../text";
import { Bar } from "./Bar";
import { Said } from "./Text";

export function ProgressBar({ run, newer, refresh }: { run: Run; newer: number; refresh: () => void }) {
  const of = run.progress;
  if (run.complete || !of) return null;
  const share = of.total > 0 ? of.stored / of.total : 0;
  const facts = [
    `${count(of.stored)} of ${count(of.total)} answers`,
    of.rate === null ? "" : `${of.rate.toPrecision(2)} a second`,
    of.eta_s === null ? "" : `about ${lasting(of.eta_s)} to go`,
    of.errors ? several(of.errors, "error") : "no errors",
  ].filter(Boolean);
  return (
    <section class="progress" aria-label="Progress of the run">
      <div class="progressline">
        <b>In progress</b>
        <Bar share={share} text={percent(share)} strong />
        <span class="quiet">{facts.join(" · ")}</span>
        {newer > 0 && <button type="button" onClick={refresh}>Show {count(newer)} more</button>}
      </div>
      <p class="quiet small">
        Everything here is provisional: it rests on the answers stored so far.
        {of.na.length > 0 && <> Without a valid answer: {of.na.map(({ group, share: part }, place) => (
          <span key={group}>{place > 0 && ", "}<Said text={group} /> {part}</span>
        ))}.</>}
      </p>
    </section>
  );
}
