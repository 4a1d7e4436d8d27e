/** The frame of all pages: head, ways between pages, keys, and what a run in progress adds while one looks. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { FunctionComponent } from "preact";
import type { Head, Run } from "./documents";
import { press } from "./keys";
import { AnswersPage } from "./pages/Answers";
import { CellPage } from "./pages/Cell";
import { comparable, ComparePage } from "./pages/Compare";
import { EstimatesPage } from "./pages/Estimates";
import { LeadPage } from "./pages/Lead";
import { MissingPage } from "./pages/Missing";
import { TrialPage } from "./pages/Trial";
import { Help } from "./parts/Help";
import { Noted } from "./parts/Note";
import { ProgressBar } from "./parts/Progress";
import { Problem } from "./parts/State";
import { visible } from "./text";
import { follow, usePlaces } from "./places";
import { go, href, type Route } from "./route";
import { forget, FreshContext, useDocument, useEvery, useRoute, useSource } from "./use";

const POLL = 5;

interface PageProps {
  head: Head;
  run: Run;
  route: Route;
}

const PAGES: Record<string, FunctionComponent<PageProps>> = {
  "": LeadPage,
  estimates: EstimatesPage,
  cell: CellPage,
  answers: AnswersPage,
  trial: TrialPage,
  missing: MissingPage,
  compare: ComparePage,
};
const WAYS = [["", "Overview"], ["estimates", "Estimates"], ["answers", "Answers"], ["missing", "Missing"], ["compare", "Compare"]] as const;
const WITHIN: Record<string, string> = { cell: "estimates", trial: "answers" };

export function App() {
  const [asks, setAsks] = useState(0);
  const loaded = useDocument("head", new URLSearchParams());
  const source = useSource();
  const [latest, setLatest] = useState<Head | null>(null);
  const head = latest ?? loaded.document;
  const running = source.live && head !== null && head.runs.some((run) => !run.complete);
  useEvery(POLL, running, () => {
    if (!document.hidden) source.document("head", new URLSearchParams()).then(setLatest, () => undefined);
  });
  if (loaded.error) return <main class="page"><h1>FaceValue</h1><Problem text={loaded.error} /></main>;
  if (!head) return <main class="page" aria-busy="true"><span class="hidden">Loading</span></main>;
  return (
    <FreshContext.Provider value={asks}>
      <Noted head={head}>
        <Frame head={head} refresh={() => {
          forget();
          setAsks(asks + 1);
        }} />
      </Noted>
    </FreshContext.Provider>
  );
}

function Frame({ head, refresh }: { head: Head; refresh: () => void }) {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const current = useRef(route);
  current.current = route;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (press(event, current.current, () => setHelp(true))) event.preventDefault();
    };
    addEventListener("keydown", listen);
    addEventListener("click", follow);
    return () => {
      removeEventListener("keydown", listen);
      removeEventListener("click", follow);
    };
  }, []);
  usePlaces(route);
  const run = head.runs.find((each) => each.run === route.query.get("run")) ?? head.runs[0];
  const { newer, show } = useGrowth(run, route, refresh);
  const Page = PAGES[route.page];
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>("main")?.focus();
      }}>To the page</a>
      <div class="page">
        <Top head={head} run={run} route={route} help={() => setHelp(true)} />
        {run && <ProgressBar run={run} newer={newer} refresh={show} />}
        <main id="main" tabindex={-1}>
          {!run ? <Problem text="No run is open." />
            : !Page ? <Problem text="There is no such page: the address may be cut off." />
              : <Page key={`${route.page} ${run.run}`} head={head} run={run} route={route} />}
        </main>
        <footer class="quiet">FaceValue {head.version}. {head.illustrated} {head.note}</footer>
      </div>
      <Help open={help} close={() => setHelp(false)} />
    </>
  );
}

/** How many answers came since the pages were made, and what makes them anew: by itself on the overview and at the end. */
function useGrowth(run: Run | undefined, route: Route, refresh: () => void): { newer: number; show: () => void } {
  const now = { run: run?.run, stored: run?.progress?.stored ?? 0, complete: run?.complete ?? true };
  const seen = useRef(now);
  if (seen.current.run !== now.run) seen.current = now;
  const newer = now.stored - seen.current.stored;
  const show = () => {
    seen.current = now;
    refresh();
  };
  const ended = now.complete && !seen.current.complete;
  useEffect(() => {
    if (ended || (newer > 0 && route.page === "")) show();
  }, [newer, ended, route.page]);
  return { newer, show };
}

function Top({ head, run, route, help }: { head: Head; run: Run | undefined; route: Route; help: () => void }) {
  const ways = WAYS.filter(([page]) => page !== "compare" || comparable(head));
  return (
    <header>
      <div class="topline">
        <a class="brand" href={href("", { run: run?.run })}>FaceValue</a>
        <span class="model">{visible(head.audit || !run ? head.title : run.label)}</span>
        <button type="button" id="keys" onClick={help} aria-label="Keys">?</button>
        <button type="button" id="theme" onClick={theme} aria-label="Switch between light and dark">Light / dark</button>
      </div>
      <div class="ways-bar">
        <nav aria-label="Pages">
          <ul>
            {ways.map(([page, title]) => (
              <li key={page}>
                <a href={href(page, page === "compare" ? {} : { run: run?.run })} aria-current={(WITHIN[route.page] ?? route.page) === page ? "page" : undefined}>{title}</a>
              </li>
            ))}
          </ul>
        </nav>
        {head.runs.length > 1 && route.page !== "compare" && (
          <label class="tool runchoice">
            <span>Run</span>
            <select value={run?.run} onChange={(event) => go(href(WITHIN[route.page] ?? route.page, { run: event.currentTarget.value }))}>
              {head.runs.map((each) => <option key={each.run} value={each.run}>{visible(each.label)} · {each.study_title.split(":")[0]}</option>)}
            </select>
          </label>
        )}
      </div>
    </header>
  );
}

function theme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
