/** All estimates of a run: filtered and sorted by any label, verdict and measure, their intervals drawn. */

import type { Column, Estimates, Run } from "../documents";
import { Choice, Choices, Pages, Reset, Search } from "../parts/Tools";
import { EstimateTable } from "../parts/EstimateTable";
import { Ready } from "../parts/State";
import { changed, go, type Route } from "../route";
import { useDocument, useTitle } from "../use";

function Order({ route, columns }: { route: Route; columns: Column[] }) {
  const sort = route.query.get("sort") ?? "";
  const listed = ["", "measure", ...columns.map(({ name }) => name)];
  return (
    <label class="tool">
      <span>Order</span>
      <select value={sort} onChange={(event) => go(changed(route, { sort: event.currentTarget.value }))}>
        <option value="">clearest first</option>
        <option value="measure">by measure</option>
        {columns.map(({ name, title }) => <option key={name} value={name}>by {title}</option>)}
        {!listed.includes(sort) && <option value={sort}>by column</option>}
      </select>
    </label>
  );
}

export function EstimatesPage({ run, route }: { run: Run; route: Route }) {
  useTitle("Estimates");
  const query = new URLSearchParams(route.query);
  query.set("run", run.run);
  const estimates = useDocument("estimates", query);
  return (
    <>
      <h1>Estimates</h1>
      <Ready of={estimates}>{(document) => <Listed document={document} run={run} route={route} />}</Ready>
    </>
  );
}

function Listed({ document, run, route }: { document: Estimates; run: Run; route: Route }) {
  const { labels, measures, facets, rows, total } = document;
  return (
    <>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search route={route} label="Search estimates" />
        <Choice route={route} name="measure" title="Measure" levels={facets.measure ?? []} />
        <Choice route={route} name="verdict" title="Verdict" levels={facets.verdict ?? []} />
        <Order route={route} columns={labels} />
        <Choices route={route} prefix="L." columns={labels} facets={facets} />
        <Reset route={route} />
      </form>
      <Pages route={route} total={total} noun="estimates" />
      {rows.length > 0 && <EstimateTable rows={rows} measures={measures} labels={labels} run={run} route={route} />}
      {total > rows.length && <Pages route={route} total={total} noun="estimates" below />}
    </>
  );
}
