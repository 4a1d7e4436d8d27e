/** Review by people: packets of a run, and the way to the page on which a rater goes on. */

import { useState } from "preact/hooks";
import type { Collected, Packet, Reviews, Run, TextTable } from "../documents";
import { Copy } from "../parts/Copy";
import { Problem, Ready } from "../parts/State";
import { Said } from "../parts/Text";
import { href } from "../route";
import { Failure } from "../source";
import { count, several } from "../text";
import { useDocument, useSource, useTitle } from "../use";

const TASKS: Record<string, [title: string, what: string]> = {
  parse: ["What replies say", "Which answer does a reply give, or why does it give none? People read replies, and the parser is held against them."],
  picture: ["Pictures", "Do they show who and what they should, does only one thing differ, are they realistic?"],
  finding: ["Findings", "Is an association that was found a stereotype, a sound inference, or neither?"],
};
const titleOf = (task: string): string => TASKS[task]?.[0] ?? task;

export function ReviewPage({ run }: { run: Run }) {
  useTitle("Review");
  const reviews = useDocument("reviews", new URLSearchParams({ run: run.run }));
  return (
    <>
      <h1>Review by people</h1>
      <p class="lead">Each rater answers alone, in an order of the rater's own, and is not told which model answered, who was shown or how a reply was read, unless the task is about that. Every answer is saved at once.</p>
      <Ready of={reviews}>{(document) => (document.why ? <Problem text={document.why} /> : <Desk document={document} run={run} />)}</Ready>
    </>
  );
}

function Desk({ document, run }: { document: Reviews; run: Run }) {
  const [drawn, setDrawn] = useState<Packet[]>([]);
  const source = useSource();
  const refresh = () => void source.document("reviews", new URLSearchParams({ run: run.run })).then((now) => setDrawn(now.packets), () => undefined);
  const packets = [...drawn, ...document.packets.filter(({ packet }) => !drawn.some((each) => each.packet === packet))];
  return (
    <>
      <Draw document={document} run={run} add={(packet) => setDrawn([packet, ...drawn.filter((each) => each.packet !== packet.packet)])} />
      <section aria-labelledby="packets">
        <h2 id="packets">Packets</h2>
        {packets.length === 0 && <p class="quiet">None yet. Those that `facevalue review RUN --out DIR` writes stand here, too.</p>}
        <ol class="packets">{packets.map((packet) => <One key={packet.packet} of={packet} run={run} refresh={refresh} />)}</ol>
      </section>
    </>
  );
}

/** Send what changes the run; what comes back goes to `then`. */
function useSending<T>() {
  const source = useSource();
  const [state, setState] = useState({ busy: false, error: "" });
  const send = async (address: string, body: object, then: (document: T) => void) => {
    setState({ busy: true, error: "" });
    try {
      then((await source.send(address, body)) as T);
      setState({ busy: false, error: "" });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      setState({ busy: false, error: error.message });
    }
  };
  return { ...state, send };
}

function Draw({ document, run, add }: { document: Reviews; run: Run; add: (packet: Packet) => void }) {
  const [task, setTask] = useState(document.tasks[0] ?? "");
  const [sample, setSample] = useState(document.sample);
  const { busy, error, send } = useSending<Packet>();
  return (
    <form class="draw" aria-busy={busy} onSubmit={(event) => {
      event.preventDefault();
      void send(`review/${run.run}`, { task, sample }, add);
    }}>
      <fieldset>
        <legend>Draw a packet</legend>
        {document.tasks.map((name) => (
          <label key={name} class="task">
            <input type="radio" name="task" checked={task === name} onChange={() => setTask(name)} />
            <span><b>{titleOf(name)}</b><span class="quiet small">{TASKS[name]?.[1]}</span></span>
          </label>
        ))}
        <div class="tools">
          <label class="tool">
            <span>Of these, at most</span>
            <input type="number" min={1} max={5000} value={sample} onChange={(event) => setSample(Number(event.currentTarget.value))} />
          </label>
          <button type="submit" class="primary" disabled={busy}>{busy ? "Drawing…" : "Draw"}</button>
        </div>
      </fieldset>
      {error && <Problem text={error} />}
    </form>
  );
}

const NAME = "[A-Za-z0-9._\\-]{1,60}";

function One({ of, run, refresh }: { of: Packet; run: Run; refresh: () => void }) {
  const [rater, setRater] = useState(`r${of.raters.length + 1}`);
  return (
    <li>
      <h3>{titleOf(of.task)} <span class="quiet">{several(of.questions, "question")}, packet {of.packet}</span></h3>
      {of.raters.length > 0 && (
        <ul class="raters">
          {of.raters.map(({ rater: name, answered, address }) => (
            <li key={name}>
              {address ? <a data-row href={address}>{name}</a> : name} <span class="quiet">{count(answered)} of {count(of.questions)} answered{!address && ", closed"}</span>
            </li>
          ))}
        </ul>
      )}
      <form class="tools" onSubmit={(event) => {
        event.preventDefault();
        location.href = of.address + encodeURIComponent(rater);
      }}>
        <label class="tool">
          <span>Another rater</span>
          <input type="text" required pattern={NAME} value={rater} title="Letters, digits, dots, hyphens and underscores"
            onInput={(event) => setRater(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary">Rate</button>
      </form>
      {of.raters.length > 0 && <Count of={of} run={run} refresh={refresh} />}
    </li>
  );
}

/** What people said of a packet, once it is asked for; not while a rater who would see it still answers. */
function Count({ of, run, refresh }: { of: Packet; run: Run; refresh: () => void }) {
  const [collected, setCollected] = useState<Collected | null>(null);
  const { busy, error, send } = useSending<Collected>();
  const open = of.raters.filter(({ done }) => !done).map(({ rater }) => rater);
  const names = open.join(", ");
  if (collected) return <Results of={collected} run={run} />;
  return (
    <>
      {open.length > 0 && <p class="quiet small">What people said would sway {names}, who left questions open. Counting closes the packet to {names}; the answers so far count.</p>}
      <p class="count">
        <button type="button" disabled={busy} onClick={() => void send(`review/${run.run}/${of.packet}`, { close: open }, (document) => {
          setCollected(document);
          if (open.length > 0) refresh();
        })}>{busy ? "Counting…" : open.length ? `Count, and close it to ${names}` : "Count the answers"}</button>
      </p>
      {error && <Problem text={error} />}
      <details class="small">
        <summary>In the terminal, with files that raters handed back</summary>
        <Copy text={of.command} />
      </details>
    </>
  );
}

function Results({ of, run }: { of: Collected; run: Run }) {
  return (
    <div class="results" role="status">
      {of.texts.map((text) => (typeof text === "string" ? <p key={text}><Said text={text} /></p> : <Numbers key={text.title} of={text} run={run} />))}
      <p class="quiet small">Kept in the run: reports show it.</p>
    </div>
  );
}

function Numbers({ of: { title, heads, rows, words }, run }: { of: TextTable; run: Run }) {
  const trial = heads.indexOf("trial");
  const kind = (at: number) => (words.includes(at) ? undefined : "num");
  return (
    <div class="scroll" tabindex={0} role="group" aria-label={title}>
      <table class="plain">
        <caption>{title}</caption>
        <thead><tr>{heads.map((head, at) => <th key={at} scope="col" class={kind(at)}>{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>{row.map((text, at) => (
              <td key={at} class={kind(at)}>{at === trial && text !== "-" ? <a href={href("trial", { run: run.run, trial: text })}>{text}</a> : <Said text={text} />}</td>
            ))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
