/** Review by people: packets of a run, and the way to the page on which a rater goes on. */

import { useState } from "preact/hooks";
import type { Packet, Reviews, Run } from "../documents";
import { Copy } from "../parts/Copy";
import { Problem, Ready } from "../parts/State";
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
  const packets = [...drawn, ...document.packets.filter(({ packet }) => !drawn.some((each) => each.packet === packet))];
  return (
    <>
      <Draw document={document} run={run} add={(packet) => setDrawn([packet, ...drawn.filter((each) => each.packet !== packet.packet)])} />
      <section aria-labelledby="packets">
        <h2 id="packets">Packets</h2>
        {packets.length === 0 && <p class="quiet">None yet. Those that `facevalue review RUN --out DIR` writes stand here, too.</p>}
        <ol class="packets">{packets.map((packet) => <One key={packet.packet} of={packet} />)}</ol>
      </section>
    </>
  );
}

function Draw({ document, run, add }: { document: Reviews; run: Run; add: (packet: Packet) => void }) {
  const source = useSource();
  const [task, setTask] = useState(document.tasks[0] ?? "");
  const [sample, setSample] = useState(document.sample);
  const [state, setState] = useState<{ busy: boolean; error: string }>({ busy: false, error: "" });
  const draw = async () => {
    setState({ busy: true, error: "" });
    try {
      add((await source.send(`review/${run.run}`, { task, sample })) as Packet);
      setState({ busy: false, error: "" });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      setState({ busy: false, error: error.message });
    }
  };
  return (
    <form class="draw" aria-busy={state.busy} onSubmit={(event) => {
      event.preventDefault();
      void draw();
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
          <button type="submit" class="primary" disabled={state.busy}>{state.busy ? "Drawing…" : "Draw"}</button>
        </div>
      </fieldset>
      {state.error && <Problem text={state.error} />}
    </form>
  );
}

const NAME = "[A-Za-z0-9._\\-]{1,60}";

function One({ of }: { of: Packet }) {
  const [rater, setRater] = useState(`r${of.raters.length + 1}`);
  return (
    <li>
      <h3>{titleOf(of.task)} <span class="quiet">{several(of.questions, "question")}, packet {of.packet}</span></h3>
      {of.raters.length > 0 && (
        <ul class="raters">
          {of.raters.map(({ rater: name, answered, address }) => (
            <li key={name}><a data-row href={address}>{name}</a> <span class="quiet">{count(answered)} of {count(of.questions)} answered</span></li>
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
      {of.command && (
        <>
          <p class="quiet small">This counts the answers that are there:</p>
          <Copy text={of.command} />
        </>
      )}
    </li>
  );
}
