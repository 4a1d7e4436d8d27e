/** Runs on the same trials, those whose answers flip first. */

import type { Compared, ComparedRow, Head } from "../documents";
import { Thumbs } from "../parts/Pictures";
import { Problem, Ready } from "../parts/State";
import { Quote, Said } from "../parts/Text";
import { Pages, Search } from "../parts/Tools";
import { Parsed } from "../parts/Trials";
import { changed, go, href, type Route } from "../route";
import { useDocument, useTitle } from "../use";

export function ComparePage({ head, route }: { head: Head; route: Route }) {
  useTitle("Compare");
  return (
    <>
      <h1>Compare</h1>
      {head.runs.length < 2 ? <Problem text="One run is open: `facevalue view RUN RUN` opens two side by side." />
        : <Several head={head} route={route} />}
    </>
  );
}

/** The runs of an address; where it names none, those that ask the first run's study. */
export function chosen(head: Head, route: Route): string[] {
  const wanted = route.query.get("runs")?.split(",").filter((run) => head.runs.some((each) => each.run === run)) ?? [];
  if (wanted.length > 1) return wanted;
  const alike = head.runs.filter((run) => run.study === head.runs[0]?.study);
  return (alike.length > 1 ? alike : head.runs).slice(0, 2).map((run) => run.run);
}

function Several({ head, route }: { head: Head; route: Route }) {
  const runs = chosen(head, route);
  const query = new URLSearchParams(route.query);
  query.set("runs", runs.join(","));
  const compared = useDocument("compare", query);
  const study = head.runs.find((run) => run.run === runs[0])?.study;
  const alike = head.runs.filter((run) => run.study === study);
  const studies = [...new Set(head.runs.map((run) => run.study))].filter((name) => head.runs.filter((run) => run.study === name).length > 1);
  const turn = (name: string) => go(changed(route, { runs: head.runs.filter((run) => run.study === name).slice(0, 2).map((run) => run.run).join(",") }));
  const toggle = (run: string, on: boolean) => {
    const next = head.runs.map((each) => each.run).filter((each) => (each === run ? on : runs.includes(each)));
    if (next.length > 1) go(changed(route, { runs: next.join(",") }));
  };
  return (
    <>
      {studies.length > 1 && (
        <label class="tool runchoice">
          <span>Study</span>
          <select value={study} onChange={(event) => turn(event.currentTarget.value)}>
            {studies.map((name) => <option key={name} value={name}>{head.runs.find((run) => run.study === name)?.study_title}</option>)}
          </select>
        </label>
      )}
      {alike.length > 2 && (
        <fieldset class="chosenruns">
          <legend class="hidden">Runs that are compared, at least two</legend>
          {alike.map((run) => (
            <label key={run.run}>
              <input type="checkbox" checked={runs.includes(run.run)} disabled={runs.length === 2 && runs.includes(run.run)}
                onChange={(event) => toggle(run.run, event.currentTarget.checked)} /> <Said text={run.label} />
            </label>
          ))}
        </fieldset>
      )}
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}><Search route={route} label="Search replies" /></form>
      <Ready of={compared}>{(document) => <Pairs document={document} head={head} route={route} />}</Ready>
    </>
  );
}

function Pairs({ document, head, route }: { document: Compared; head: Head; route: Route }) {
  const { sentences, rows, total } = document;
  return (
    <>
      {sentences.length > 0 && (
        <div class="answer">{sentences.map((text, place) => <p key={text} class={place ? "aside" : "sentence"}>{text}</p>)}</div>
      )}
      <Pages route={route} total={total} noun="trials" />
      <ol class="compared">{rows.map((row) => <Pair key={row.trial} row={row} head={head} />)}</ol>
      {total > rows.length && <Pages route={route} total={total} noun="trials" below />}
    </>
  );
}

function Pair({ row, head }: { row: ComparedRow; head: Head }) {
  const label = (run: string) => head.runs.find((each) => each.run === run)?.label ?? run;
  const first = row.replies[0]?.run ?? "0";
  return (
    <li class={row.flipped ? "flipped" : undefined}>
      <div class="pairhead">
        <Thumbs of={row.pictures} most={3} />
        <div>
          <h2><a data-row href={href("trial", { run: first, trial: row.trial })}>Trial {row.trial}</a> {row.flipped && <span class="tag flip">flipped</span>}</h2>
          <p class="quiet small">{Object.values(row.factors).join(" · ")}</p>
          {row.prompt && <p class="small lines" dir="auto"><Said text={row.prompt} /></p>}
        </div>
      </div>
      <div class="sides">
        {row.replies.map((reply) => (
          <div key={reply.run}>
            <h3><a href={href("trial", { run: reply.run, trial: reply.trial })}><Said text={label(reply.run)} /></a></h3>
            {reply.reply && <Quote text={reply.reply} />}
            <p class="shift"><Parsed status={reply.status} answer={reply.answer} why={reply.why ?? null} /></p>
          </div>
        ))}
      </div>
    </li>
  );
}
