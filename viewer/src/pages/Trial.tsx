/** One trial: what was shown and asked, what came back, how it was read, and the same in the terminal. */

import type { ComponentChildren } from "preact";
import type { Reply, Run, Trial } from "../documents";
import { Copy } from "../parts/Copy";
import { Shown } from "../parts/Pictures";
import { Ready } from "../parts/State";
import { Prompt, Quote, Said } from "../parts/Text";
import { Parsed, Probabilities } from "../parts/Trials";
import { href, type Route } from "../route";
import { count, moment } from "../text";
import { useDocument, useNext, useTitle } from "../use";

export function TrialPage({ run, route }: { run: Run; route: Route }) {
  useTitle(`Trial ${route.query.get("trial") ?? ""}`);
  const query = new URLSearchParams(route.query);
  query.set("run", run.run);
  const trial = useDocument("trial", query);
  return (
    <>
      <div class="trialhead">
        <h1>Trial {route.query.get("trial")}</h1>
        {route.query.get("within") ? <Listed route={route} run={run} /> : trial.document && <Neighbours of={trial.document} run={run} />}
      </div>
      <Ready of={trial}>{(document) => <Whole trial={document} run={run} />}</Ready>
    </>
  );
}

interface Beside {
  of: { previous: number | null; next: number | null };
  run: Run;
  within?: string;
  children?: ComponentChildren;
}

function Neighbours({ of, run, within, children }: Beside) {
  const to = (trial: number) => href("trial", { run: run.run, trial, within });
  useNext("trial", of.next === null ? null : new URLSearchParams({ run: run.run, trial: String(of.next) }));
  return (
    <nav class="pages" aria-label="Trials beside this one">
      {of.previous !== null && <a rel="prev" href={to(of.previous)}>← Trial {of.previous}</a>}
      {of.next !== null && <a rel="next" href={to(of.next)}>Trial {of.next} →</a>}
      {children}
    </nav>
  );
}

/** Neighbours in the list of answers that the trial was opened from, as that list was searched and filtered. */
function Listed({ route, run }: { route: Route; run: Run }) {
  const within = route.query.get("within") ?? "";
  const query = new URLSearchParams(within);
  query.set("run", run.run);
  const rows = useDocument("answers", query).document?.rows ?? [];
  const trials = [...new Set(rows.map((row) => row.trial))];
  const at = trials.indexOf(Number(route.query.get("trial")));
  const beside = at < 0 ? { previous: null, next: null } : { previous: trials[at - 1] ?? null, next: trials[at + 1] ?? null };
  return (
    <Neighbours of={beside} run={run} within={within}>
      <a href={href("answers", query)}>{at < 0 ? "The list" : `${at + 1} of ${trials.length} in the list`}</a>
    </Neighbours>
  );
}

function Whole({ trial, run }: { trial: Trial; run: Run }) {
  const { factors, levels, pictures, no_picture, prompt, system, turns, options, replies, judged, attention, checks, command } = trial;
  return (
    <div class="trial">
      <section class="asked" aria-labelledby="asked">
        <h2 id="asked">Asked</h2>
        {pictures.length ? <Shown of={pictures} /> : <p class="quiet">{no_picture || "No picture is shown with this trial."}</p>}
        {system && <Prompt text={system} label="System prompt" system />}
        {turns.map(({ role, text }, place) => <Prompt key={place} text={text} label={`Before: ${role}`} system />)}
        <Prompt text={prompt} label="Prompt" />
        {options && (
          <>
            <h3>Options</h3>
            <ul class="options">{options.map((option) => <li key={option}><Said text={option} /></li>)}</ul>
          </>
        )}
      </section>
      <section class="got" aria-labelledby="got">
        <h2 id="got">{replies.length === 1 ? "Answered" : `${count(replies.length)} answers`}</h2>
        {replies.length === 0 && <p class="quiet">No answer is stored yet.</p>}
        {replies.map((reply) => <OneReply key={reply.repeat} reply={reply} several={replies.length > 1} />)}
        {judged.length > 0 && (
          <>
            <h3>Judged</h3>
            <dl>{judged.map(({ by, text }, place) => [<dt key={place}><Said text={by} /></dt>, <dd key={`${place}=`}><Said text={text} /></dd>])}</dl>
          </>
        )}
        {attention.length > 0 && (
          <>
            <h3>Where the model attended</h3>
            <p class="quiet small">A map shows where a model looked. It does not explain the answer.</p>
            <div class="maps"><Shown of={attention} /></div>
          </>
        )}
        {checks.length > 0 && (
          <>
            <h3>Checks of the pictures</h3>
            <ul class="facts">{checks.map((check) => <li key={check}>{check}</li>)}</ul>
          </>
        )}
        <h3>Factors</h3>
        <p class="quiet small">Click one to see all answers with it.</p>
        <dl class="labels">
          {Object.entries(factors).map(([factor, title]) => [<dt key={factor}>{factor.replaceAll("_", " ")}</dt>, <dd key={`${factor}=`}><a href={href("answers", { run: run.run, [`F.${factor}`]: levels[factor] })}><Said text={title} /></a></dd>])}
        </dl>
        <h3>In the terminal</h3>
        <Copy text={command} />
      </section>
    </div>
  );
}

function OneReply({ reply, several }: { reply: Reply; several: boolean }) {
  const facts = [
    reply.prompt_tokens === null ? "" : `${count(reply.prompt_tokens)} tokens in`,
    reply.completion_tokens === null ? "" : `${count(reply.completion_tokens)} out`,
    reply.latency_ms === null ? "" : `${count(Math.round(reply.latency_ms))} ms`,
    reply.when === null ? "" : moment(reply.when),
  ].filter(Boolean);
  return (
    <article class="reply">
      {several && <h3>Repeat {reply.repeat}</h3>}
      {reply.probs && <Probabilities of={reply.probs} answer={reply.answer} />}
      {(reply.reply || !reply.probs) && <Quote text={reply.reply} left={reply.cut} />}
      {reply.error && <p class="warning"><Said text={reply.error} /></p>}
      <p class="shift"><span class="quiet">Read as </span><Parsed {...reply} /></p>
      {facts.length > 0 && <p class="quiet small">{facts.join(" · ")}</p>}
    </article>
  );
}
