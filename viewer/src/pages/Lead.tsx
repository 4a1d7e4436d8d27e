/** The first screen of a run: what was asked, the answer in the report's words, and what must be read with it. */

import type { Head, Run } from "../documents";
import { EstimateTable } from "../parts/EstimateTable";
import { Said } from "../parts/Text";
import { Ready } from "../parts/State";
import { Thumbs } from "../parts/Pictures";
import { href, type Route } from "../route";
import { moment } from "../text";
import { useDocument, useTitle } from "../use";
import { ProfilePart } from "./Profile";

export function LeadPage({ head, run, route }: { head: Head; run: Run; route: Route }) {
  useTitle(head.title);
  return (
    <>
      {head.note && <p class="warning">{head.note}</p>}
      {head.runs.length > 1 && <h1>{head.title}</h1>}
      {head.audit && <ProfilePart runs={head.runs} />}
      {head.runs.length > 1 && <Runs head={head} run={run} />}
      <First run={run} route={route} several={head.runs.length > 1} />
    </>
  );
}

function Runs({ head, run }: { head: Head; run: Run }) {
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">{head.runs.length} runs</h2>
      <div class="scroll" tabindex={0} role="group" aria-label="Runs">
        <table class="plain">
          <thead><tr><th scope="col">Run</th><th scope="col">Study</th><th scope="col">Model</th><th scope="col">Begun</th></tr></thead>
          <tbody>
            {head.runs.map((each) => (
              <tr key={each.run} class={each === run ? "pooled" : undefined}>
                <th scope="row">
                  <a data-row href={href("", { run: each.run })} aria-current={each === run || undefined}><Said text={each.label} /></a>
                </th>
                <td>{each.study_title}</td>
                <td><Said text={each.model} /></td>
                <td class="nowrap">{each.when ? moment(each.when) : "–"}{!each.complete && <b> in progress</b>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const CLEAREST = "6";

/** The first estimates of the table: what is found, and how clearly. */
function Clearest({ run }: { run: Run }) {
  const estimates = useDocument("estimates", new URLSearchParams({ run: run.run, n: CLEAREST }));
  const differs = estimates.document?.rows.some(({ verdict }) => verdict === "difference found");
  return (
    <section aria-labelledby="clearest">
      <h2 id="clearest">{differs ? "Clearest differences" : "Largest hints, which may be chance"}</h2>
      <Ready of={estimates}>
        {({ rows, measures, labels }) => rows.length ? <EstimateTable rows={rows} measures={measures} labels={labels} run={run} />
          : <p class="empty">There is no estimate yet.</p>}
      </Ready>
    </section>
  );
}

function First({ run, several }: { run: Run; route: Route; several: boolean }) {
  const lead = useDocument("lead", new URLSearchParams({ run: run.run }), (document) => document.asked.pending === true);
  const to = (page: string) => href(page, { run: run.run });
  return (
    <section class="first" aria-labelledby="answer-title">
      {several ? <h2>{run.study_title} <span class="quiet"><Said text={run.label} /></span></h2> : <h1>{run.study_title}</h1>}
      <Ready of={lead}>
        {({ asked, verdict, look, sentences, more, cautions, provisional }) => (
          <>
            <div class="question" role="group" aria-label="What was asked, in short">
              <Thumbs of={asked.pictures} captions />
              <div class="questiontext">
                {asked.prompt && (
                  <details>
                    <summary><span dir="auto">“{asked.prompt}”</span></summary>
                    <pre dir="auto" tabindex={0}>{asked.prompt}</pre>
                  </details>
                )}
                <p class="quiet facts">{[...asked.facts, ...(asked.pictures.length ? [] : [asked.no_picture])].filter(Boolean).join(" · ")}</p>
              </div>
            </div>
            <div class={`answer ${look ?? "nothing"}`}>
              <h2 id="answer-title" class="kicker">{verdict ?? "Answer"}{provisional && ", provisional"}</h2>
              <p class="sentence">{sentences.join(" ")}</p>
              {more?.map((text) => <p key={text} class="aside">{text}</p>)}
            </div>
            <Clearest run={run} />
            <ul class="ways">
              <li><a data-row href={to("estimates")}><b>Every estimate</b><span>filter, sort, and open the arithmetic behind each</span></a></li>
              <li><a data-row href={to("answers")}><b>Every answer</b><span>search replies; pictures, prompts and how each was read</span></a></li>
              <li><a data-row href={to("missing")}><b>Missing answers</b><span>by reason and group, with the replies</span></a></li>
            </ul>
            {cautions.length > 0 && (
              <section aria-labelledby="cautions">
                <h2 id="cautions">Read with care</h2>
                <ul class="facts">{cautions.map((text) => <li key={text}>{text}</li>)}</ul>
              </section>
            )}
          </>
        )}
      </Ready>
    </section>
  );
}
