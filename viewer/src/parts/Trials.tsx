/** Trials side by side: pictures, reply and how it was read. */

import type { Reply, Run } from "../documents";
import { href } from "../route";
import { words } from "../text";
import { useDocument } from "../use";
import { Bar } from "./Bar";
import { Thumbs } from "./Pictures";
import { Ready } from "./State";
import { Quote, Said } from "./Text";

const SIDES = 8;
const REPLIES = 3;

/** What was read from a reply, or why nothing was. */
export function Parsed({ status, answer, why }: Pick<Reply, "status" | "answer" | "why">) {
  if (answer !== null) return <span class="tag"><Said text={answer} /></span>;
  return <span class="tag na"><Said text={why ?? (status === "ok" ? "no valid answer" : status.replaceAll("_", " "))} /></span>;
}

/** Probabilities of the options of a trial. */
export function Probabilities({ of, answer }: { of: NonNullable<Reply["probs"]>; answer: string | null }) {
  return (
    <table class="probs">
      <caption class="hidden">Probabilities of the options</caption>
      <tbody>
        {of.map(({ option, share }) => (
          <tr key={option}><th scope="row"><Said text={option} /></th><td><Bar share={share} strong={option === answer} /></td></tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ run, trial }: { run: Run; trial: number }) {
  const loaded = useDocument("trial", new URLSearchParams({ run: run.run, trial: String(trial) }));
  return (
    <article class="example">
      <h3><a href={href("trial", { run: run.run, trial })}>Trial {trial}</a></h3>
      <Ready of={loaded}>
        {({ pictures, no_picture, factors, prompt, options, replies }) => (
          <>
            {pictures.length ? <Thumbs of={pictures} /> : <p class="quiet small">{no_picture}</p>}
            <p class="quiet small">{words(factors)}</p>
            <details class="small"><summary><Said text={prompt} /></summary><p class="lines whole" dir="auto"><Said text={prompt} /></p></details>
            {options && !replies.some((reply) => reply.probs) && <p class="quiet small"><Said text={options.join(" · ")} /></p>}
            {replies.slice(0, REPLIES).map((reply) => (
              <div key={reply.repeat}>
                {reply.probs ? <Probabilities of={reply.probs} answer={reply.answer} /> : <Quote text={reply.reply} />}
                {reply.error && <p class="warning small"><Said text={reply.error} /></p>}
                <p class="shift"><Parsed {...reply} /></p>
              </div>
            ))}
            {replies.length > REPLIES && <p class="quiet small">And {replies.length - REPLIES} more replies.</p>}
          </>
        )}
      </Ready>
    </article>
  );
}

export function SideBySide({ run, trials }: { run: Run; trials: number[] }) {
  return (
    <div class="examples">
      {trials.slice(0, SIDES).map((trial) => <Side key={trial} run={run} trial={trial} />)}
      {trials.length > SIDES && <p class="quiet small">And {trials.length - SIDES} more trials.</p>}
    </div>
  );
}
