/** A table of estimates with their intervals drawn, below a head for each measure where they come in groups. */

import type { Column, Level, Row, Run, Scale } from "../documents";
import { href, type Route } from "../route";
import { count, within } from "../text";
import { Axis, Strip, Verdict } from "./Strip";
import { SortHead } from "./Tools";

interface Group {
  measure: string;
  scale: Scale | null;
  rows: Row[];
}

const same = (a: Scale | null, b: Scale | null) => a?.min === b?.min && a?.max === b?.max && a?.zero === b?.zero;

/** Rows that follow each other and share a measure and a scale. */
export function grouped(rows: Row[]): Group[] {
  const groups: Group[] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.measure === row.measure && same(last.scale, row.scale)) last.rows.push(row);
    else groups.push({ measure: row.measure, scale: row.scale, rows: [row] });
  }
  return groups;
}

function Head({ column, title, quiet, route }: { column: string; title: string; quiet?: string | undefined; route: Route | undefined }) {
  const number = column !== "verdict";
  if (route) return <SortHead route={route} column={column} title={title} quiet={quiet} number={number} />;
  return <th scope="col" class={number ? "num" : undefined}>{title}{quiet && <span class="quiet"> {quiet}</span>}</th>;
}

interface Props {
  rows: Row[];
  measures: Level[];
  labels: Column[];
  run: Run;
  /** Where the heads of columns sort by them. */
  route?: Route;
}

/** Levels of a row with the names of their labels; where it has none its title. */
function Labels({ row, columns, measure }: { row: Row; columns: Column[]; measure: string }) {
  const pairs = columns.flatMap(({ name, title }) => (row.labels[name] ? [[title, row.labels[name].title] as const] : []));
  if (!pairs.length) return <>{row.title === measure ? "Over everything" : within(row.title, measure)}</>;
  return <>{pairs.map(([label, level]) => <span key={label} class="pairof"><small>{label}</small> {level}</span>)}</>;
}

export function EstimateTable({ rows, measures, labels, run, route }: Props) {
  const groups = grouped(rows);
  const titled = groups.length <= Math.max(rows.length / 2, 1);
  const title = (measure: string) => measures.find(({ level }) => level === measure)?.title ?? measure;
  const axis = (group: Group) => groups.length > 1 && group.scale?.ticks?.length;
  const judged = rows.some((row) => row.verdict !== null);
  const level = rows[0]?.level ? `${Math.round(100 * rows[0].level)}% ` : "";
  const columns = [["value", "Value", `[${level}interval]`], ...(judged ? [["verdict", "Verdict"]] : []), ["p", "By chance"], ["n", "Answers"]] as const;
  return (
    <>
      <table class={judged ? "strips judged estimates" : "strips estimates"}>
          <caption class="hidden">Estimates with their intervals</caption>
          <thead>
            <tr>
              <th scope="col">Estimate</th>
              <th class="plotcell" aria-hidden="true">{groups.length === 1 && rows[0]?.scale && <Axis scale={rows[0].scale} />}</th>
              {columns.map(([column, head, quiet]) => (
                <Head key={column} column={column} title={head} quiet={quiet} route={route} />
              ))}
            </tr>
          </thead>
          {groups.map((group, place) => (
            <tbody key={`${group.measure}-${place}`}>
              {titled && (groups.length > 1 || measures.length > 1) && (
                <tr class="measurehead">
                  <th scope="rowgroup" colSpan={axis(group) ? 1 : judged ? 6 : 5}>{title(group.measure)}</th>
                  {axis(group) && <td class="plotcell">{group.scale && <Axis scale={group.scale} />}</td>}
                  {axis(group) && <td colSpan={judged ? 4 : 3} />}
                </tr>
              )}
              {group.rows.map((row) => (
                <tr key={row.key}>
                  <th scope="row">
                    <a data-row href={href("cell", { run: run.run, key: row.key })}><Labels row={row} columns={labels} measure={title(row.measure)} /></a>
                    {!titled && row.title !== title(row.measure) && <small class="of">{title(row.measure)}</small>}
                  </th>
                  <td class="plotcell"><Strip row={row} /></td>
                  <td class="num">{row.text.value} <span class="quiet nowrap">{row.text.interval}</span></td>
                  {judged && <td class="verdict"><Verdict row={row} /></td>}
                  <td class="num quiet p">{row.text.p}</td>
                  <td class="num quiet n">{count(row.n)}</td>
                </tr>
              ))}
            </tbody>
          ))}
        </table>
        <p class="quiet small wide">
          Dot: estimate. Thick line: its interval. Thin line: interval corrected for all comparisons on the page. Grey:
          what chance alone gives. {groups.length > 1 && !titled && "Each row is drawn on the scale of its own measure."}
        </p>
    </>
  );
}
