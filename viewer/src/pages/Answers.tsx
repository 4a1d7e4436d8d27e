/** All answers of a run: searched, filtered by any factor, status and time. */

import type { AnswerRow, Answers, Run } from "../documents";
import { Thumbs } from "../parts/Pictures";
import { Ready } from "../parts/State";
import { Said } from "../parts/Text";
import { Choice, Choices, Pages, Reset, Search, Searched, SortHead } from "../parts/Tools";
import { Parsed } from "../parts/Trials";
import { changed, go, href, type Route } from "../route";
import { bounded, moment } from "../text";
import { queryOf } from "../source";
import { useDocument, useTitle } from "../use";

const LINE = 400;
/** Levels of how replies were read, where the server lists none. */
const READ = ["valid", "missing"].map((level) => ({ level, title: level, count: null }));

export function AnswersPage({ run, route }: { run: Run; route: Route }) {
  useTitle("Answers");
  const query = new URLSearchParams(route.query);
  query.set("run", run.run);
  const answers = useDocument("answers", query, (document) => document.pending);
  return (
    <>
      <h1>Answers</h1>
      <Ready of={answers}>{(document) => <Listed document={document} run={run} route={route} />}</Ready>
    </>
  );
}

function Time({ route, name, title }: { route: Route; name: "since" | "until"; title: string }) {
  const value = route.query.get(name) ?? "";
  return (
    <label class={value ? "tool chosen" : "tool"}>
      <span>{title}</span>
      <input type="datetime-local" value={value} onChange={(event) => go(changed(route, { [name]: event.currentTarget.value }))} />
    </label>
  );
}

function Listed({ document, run, route }: { document: Answers; run: Run; route: Route }) {
  const { factors, facets, rows, total, searched, pending } = document;
  const timed = rows.some((row) => row.when !== null);
  const narrowed = queryOf("answers", route.query);
  narrowed.delete("run");
  const within = narrowed.toString();
  const picked = route.query.has("since") || route.query.has("until");
  const times = [<Time key="since" route={route} name="since" title="Since" />, <Time key="until" route={route} name="until" title="Until" />];
  return (
    <>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search route={route} label="Search replies" />
        <Choice route={route} name="status" title="Status" levels={facets.status ?? []} />
        <Choice route={route} name="answer" title="Read as" levels={facets.answer ?? READ} />
        <Choices route={route} prefix="F." columns={factors} facets={facets}>{timed && !picked && times}</Choices>
        {picked && times}
        <Reset route={route} />
      </form>
      <Pages route={route} total={total} noun="answers" />
      {searched && <Searched of={searched} noun="replies" pending={pending} />}
      {rows.length > 0 && (
        <div class="listbox">
          <table class="plain roomlist">
            <caption class="hidden">Answers</caption>
            <thead>
              <tr>
                <SortHead route={route} column="trial" title="Trial" />
                <th scope="col">Shown</th>
                <th scope="col">Asked</th>
                <th scope="col">Reply</th>
                <th scope="col">Read as</th>
                {timed && <SortHead route={route} column="when" title="When" />}
              </tr>
            </thead>
            <tbody>{rows.map((row) => <Line key={`${row.trial}-${row.repeat}`} row={row} run={run} timed={timed} within={within} />)}</tbody>
          </table>
        </div>
      )}
      {(total === null || total > rows.length) && <Pages route={route} total={total} noun="answers" below />}
    </>
  );
}

function Line({ row, run, timed, within }: { row: AnswerRow; run: Run; timed: boolean; within: string }) {
  const [reply, left] = bounded(row.reply, LINE);
  return (
    <tr>
      <th scope="row" class="nowrap">
        <a data-row href={href("trial", { run: run.run, trial: row.trial, within })}>{row.trial}</a>
        {row.repeat > 0 && <span class="quiet small"> repeat {row.repeat}</span>}
      </th>
      <td class="pictures"><Thumbs of={row.pictures} most={2} /></td>
      <td class="factors"><div class="lines">{[...new Set(Object.values(row.factors))].map((title, place) => <span key={place}><Said text={title} /></span>)}</div></td>
      <td class="replied">{reply.trim() ? <span class="lines" dir="auto"><Said text={reply} />{left > 0 && "…"}</span> : <span class="quiet">empty</span>}</td>
      <td class="parsed"><Parsed {...row} /></td>
      {timed && <td class="nowrap quiet when">{row.when ? moment(row.when) : "–"}</td>}
    </tr>
  );
}
