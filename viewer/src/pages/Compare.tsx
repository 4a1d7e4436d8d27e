/** Runs, or a run and its interventions, on the same trials, those whose answers flip first. */

import type { Compared, ComparedRow, Head, Run } from "../documents";
import { Thumbs } from "../parts/Pictures";
import { Problem, Ready } from "../parts/State";
import { Quote, Said } from "../parts/Text";
import { Choices, Pages, Reset, Search, Searched } from "../parts/Tools";
import { Parsed } from "../parts/Trials";
import { changed, go, href, type Route } from "../route";
import { words } from "../text";
import { useDocument, useTitle } from "../use";

interface Side {
  name: string;
  title: string;
}

/** What a run can be compared as: as it is, and with each of its interventions. */
function sidesOf(run: Run, alone: boolean): Side[] {
  if (run.interventions.length === 0) return [{ name: run.run, title: run.label }];
  return run.interventions.map(({ name, title }, place) => ({
    name: place ? `${run.run}:${name}` : run.run,
    title: alone ? title : `${run.label}: ${title}`,
  }));
}

const MOST = 6;

/** All that can be set side by side: of each study its runs and their interventions. */
function studiesOf(head: Head): [study: string, sides: Side[]][] {
  const names = [...new Set(head.runs.map((run) => run.study))];
  return names.map((name): [string, Side[]] => {
    const runs = head.runs.filter((run) => run.study === name);
    return [name, runs.flatMap((run) => sidesOf(run, runs.length === 1))];
  }).filter(([, sides]) => sides.length > 1);
}

export const comparable = (head: Head): boolean => studiesOf(head).length > 0;

export function ComparePage({ head, route }: { head: Head; route: Route }) {
  useTitle("Compare");
  return (
    <>
      <h1>Compare</h1>
      {comparable(head) ? <Several head={head} route={route} />
        : <Problem text="One run without interventions is open: `facevalue view RUN RUN` opens two side by side." />}
    </>
  );
}

/** The first sides of a study: its runs as they are, or of a single run an intervention beside it. */
function first(head: Head, study: string, sides: Side[]): string[] {
  const runs = head.runs.filter((run) => run.study === study).map(({ run }) => run);
  return (runs.length > 1 ? runs : sides.map(({ name }) => name)).slice(0, 2);
}

function Several({ head, route }: { head: Head; route: Route }) {
  const studies = studiesOf(head);
  const wanted = route.query.get("runs")?.split(",") ?? [];
  const known = (sides: Side[]) => wanted.filter((name) => sides.some((side) => side.name === name));
  const [study, sides] = studies.find(([, of]) => known(of).length > 1) ?? (studies[0] as [string, Side[]]);
  const chosen = known(sides).length > 1 ? known(sides) : first(head, study, sides);
  const query = new URLSearchParams(route.query);
  query.set("runs", chosen.join(","));
  const compared = useDocument("compare", query, (document) => document.pending === true);
  const turn = (name: string) => {
    const of = studies.find(([each]) => each === name)?.[1] ?? [];
    go(href("compare", { runs: first(head, name, of).join(",") }));
  };
  const toggle = (name: string, on: boolean) => {
    const next = sides.map((side) => side.name).filter((each) => (each === name ? on : chosen.includes(each)));
    if (next.length > 1) go(changed(route, { runs: next.join(",") }));
  };
  const fixed = (name: string) => (chosen.includes(name) ? chosen.length === 2 : chosen.length === MOST);
  return (
    <>
      {studies.length > 1 && (
        <label class="tool runchoice">
          <span>Study</span>
          <select value={study} onChange={(event) => turn(event.currentTarget.value)}>
            {studies.map(([name]) => <option key={name} value={name}>{head.runs.find((run) => run.study === name)?.study_title}</option>)}
          </select>
        </label>
      )}
      {sides.length > 2 && (
        <fieldset class="chosenruns">
          <legend class="hidden">What is compared, at least two</legend>
          {sides.map(({ name, title }) => (
            <label key={name}>
              <input type="checkbox" checked={chosen.includes(name)} disabled={fixed(name)}
                onChange={(event) => toggle(name, event.currentTarget.checked)} /> <Said text={title} />
            </label>
          ))}
        </fieldset>
      )}
      <Ready of={compared}>{(document) => <Pairs document={document} route={route} />}</Ready>
    </>
  );
}

function Pairs({ document, route }: { document: Compared; route: Route }) {
  const { sentences, rows, total, searched, pending, factors, facets } = document;
  return (
    <>
      {sentences.length > 0 && (
        <div class="answer">{sentences.map((text, place) => <p key={text} class={place ? "aside" : "sentence"}>{text}</p>)}</div>
      )}
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search route={route} label="Search prompts and replies" />
        <Choices route={route} prefix="F." columns={factors} facets={facets} />
        <Reset route={route} />
      </form>
      <Pages route={route} total={total} noun="answers" />
      {searched && <Searched of={searched} noun="answers" pending={pending === true} />}
      <ol class="compared">{rows.map((row, place) => <Pair key={place} row={row} sides={document.sides} />)}</ol>
      {(total === null || total > rows.length) && <Pages route={route} total={total} noun="answers" below />}
    </>
  );
}

function Pair({ row, sides }: { row: ComparedRow; sides: Compared["sides"] }) {
  const side = (name: string) => sides.find((each) => each.side === name);
  return (
    <li class={row.flipped ? "flipped" : undefined}>
      <div class="pairhead">
        <Thumbs of={row.pictures} most={3} />
        <div>
          <h2><a data-row href={href("trial", { run: sides[0]?.run, trial: row.trial })}>Trial {row.trial}</a> {row.flipped && <span class="tag flip">flipped</span>}</h2>
          <p class="quiet small">{words(row.factors)}</p>
          {row.prompt && <p class="small lines" dir="auto"><Said text={row.prompt} /></p>}
        </div>
      </div>
      <div class="sides">
        {row.replies.map((reply) => (
          <div key={reply.side}>
            <h3><a href={href("trial", { run: side(reply.side)?.run, trial: reply.trial })}><Said text={side(reply.side)?.title ?? reply.side} /></a>{reply.repeat > 0 && <span class="quiet small"> repeat {reply.repeat}</span>}</h3>
            {reply.pictures.length > 0 && <Thumbs of={reply.pictures} most={2} />}
            {reply.prompt !== null && <p class="small lines" dir="auto"><Said text={reply.prompt} /></p>}
            {reply.reply && <Quote text={reply.reply} />}
            <p class="shift"><Parsed status={reply.status} answer={reply.answer} why={reply.why} /></p>
          </div>
        ))}
      </div>
    </li>
  );
}
