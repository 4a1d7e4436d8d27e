/** One estimate: its arithmetic in steps, and the clusters that it is made of, those that add most first. */

import type { Cell, Run } from "../documents";
import { Added } from "../parts/Bar";
import { Thumbs } from "../parts/Pictures";
import { Ready } from "../parts/State";
import { Axis, Strip, Verdict } from "../parts/Strip";
import { Said } from "../parts/Text";
import { SideBySide } from "../parts/Trials";
import { changed, href, type Route } from "../route";
import { count, several, within } from "../text";
import { useDocument, useTitle } from "../use";

export function CellPage({ run, route }: { run: Run; route: Route }) {
  const query = new URLSearchParams(route.query);
  query.set("run", run.run);
  const cell = useDocument("cell", query, (document) => document.cluster.pending);
  useTitle(cell.document?.row.title ?? "Estimate");
  return <Ready of={cell}>{(document) => <Whole cell={document} run={run} route={route} />}</Ready>;
}

function Whole({ cell, run, route }: { cell: Cell; run: Run; route: Route }) {
  const { row, definition, steps, cluster } = cell;
  const behind = new URLSearchParams(cell.behind);
  behind.set("run", run.run);
  const answers = href("answers", behind);
  return (
    <>
      <p class="above"><a href={href("estimates", { run: run.run, measure: row.measure })}>{definition.title}</a></p>
      <h1>{within(row.title, definition.title)}</h1>
      <div class="answer cellhead">
        <p class="sentence">{row.text.value} <span class="quiet nowrap">{row.text.interval}</span> <Verdict row={row} /></p>
        {row.scale && <div class="plotbox"><Axis scale={row.scale} /><Strip row={row} /></div>}
        <p class="quiet facts">
          {[row.n === null ? "" : several(row.n, "answer"), row.clusters === null ? "" : `${count(row.clusters)} ${cluster.title}`,
            row.text.p && `by chance: ${row.text.p}`].filter(Boolean).join(" · ")}
        </p>
      </div>
      <dl class="labels">
        {Object.entries(row.labels).map(([label, level]) => [<dt key={label}>{label.replaceAll("_", " ")}</dt>, <dd key={`${label}=`}>{level.title}</dd>])}
      </dl>
      <section aria-labelledby="how">
        <h2 id="how">How it is computed</h2>
        {definition.equation && <p class="equation" dir="ltr">{definition.equation}</p>}
        {definition.source && <p class="quiet small">{definition.source}</p>}
        <ol class="arithmetic">
          {steps.map((step) => (
            <li key={step.title}>
              <h3>{step.title}</h3>
              <p>{step.text}</p>
              {step.table && <Numbers {...step.table} title={step.title} />}
            </li>
          ))}
        </ol>
      </section>
      <section aria-labelledby="clusters">
        <h2 id="clusters">What it is made of: {cluster.title}</h2>
        <p class="lead">
          {cluster.rows.length > 0 && (cluster.total > cluster.rows.length ? `${count(cluster.rows.length)} of ${count(cluster.total)}` : `All ${count(cluster.total)}`)}
          {cluster.rows.length > 0 && ", first those without which the estimate would move most. "}
          {cluster.rows.length === 0 && cluster.note} <a href={answers}>The trials behind it</a>
        </p>
        {cluster.rows.length > 0 && <Clusters cell={cell} run={run} route={route} />}
      </section>
    </>
  );
}

function Numbers({ heads, rows, title }: { heads: string[]; rows: string[][]; title: string }) {
  return (
    <div class="scroll" tabindex={0} role="group" aria-label={title}>
      <table class="plain">
        <thead><tr>{heads.map((head, place) => <th key={head} scope="col" class={place ? "num" : undefined}>{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{row.map((text, place) => (place ? <td key={place} class="num">{text}</td> : <th key={place} scope="row"><Said text={text} /></th>))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** In place of a cluster where all of them are closed; the first one stands open otherwise. */
const NONE = "none";

function Clusters({ cell, run, route }: { cell: Cell; run: Run; route: Route }) {
  const rows = cell.cluster.rows;
  const most = Math.max(...rows.map((row) => Math.abs(row.added ?? 0)), 0);
  const open = route.query.get("open") ?? rows[0]?.cluster;
  return (
    <ol class="clusters">
      {rows.map((row) => (
        <li key={row.cluster} class={open === row.cluster ? "open" : undefined}>
          <a data-row href={changed(route, { open: open === row.cluster ? NONE : row.cluster })} aria-expanded={open === row.cluster} class="clusterline">
            <Thumbs of={row.pictures} most={2} />
            <span class="clustername"><Said text={row.title} />{row.n !== null && <small class="quiet"> {several(row.n, "answer")}</small>}</span>
            {row.added !== null && <Added value={row.added} most={most} />}
            <span class="num">{row.text}</span>
          </a>
          {open === row.cluster && <SideBySide run={run} trials={row.trials} />}
        </li>
      ))}
    </ol>
  );
}
