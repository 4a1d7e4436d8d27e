/** Answers that are missing: by reason and group, with what the model said instead. */

import type { GroupShare, Reason, Run } from "../documents";
import { Bar } from "../parts/Bar";
import { Ready } from "../parts/State";
import { Quote } from "../parts/Text";
import { href, type Route } from "../route";
import { count, percent, several } from "../text";
import { useDocument, useTitle } from "../use";

export function MissingPage({ run }: { run: Run; route: Route }) {
  useTitle("Missing answers");
  const missing = useDocument("missing", new URLSearchParams({ run: run.run }), (document) => document.pending);
  return (
    <>
      <h1>Missing answers</h1>
      <Ready of={missing}>
        {({ reasons, total, groups }) =>
          reasons.length === 0 ? <p class="empty">Every one of {several(total, "reply", "replies")} holds a valid answer.</p> : (
            <>
              <p class="lead">Of {several(total, "reply", "replies")}. A missing answer is never counted as zero.</p>
              <Groups of={groups} label="Missing answers of all reasons" />
              {reasons.map((reason) => <OneReason key={reason.status} reason={reason} run={run} />)}
            </>
          )}
      </Ready>
    </>
  );
}

function Groups({ of, label }: { of: GroupShare[]; label: string }) {
  const most = Math.max(...of.map(({ share }) => share ?? 0), 0);
  if (!of.length) return null;
  return (
    <div class="scroll tall" tabindex={0} role="group" aria-label={`${label} by group`}>
      <table class="plain shares">
        <thead><tr><th scope="col">Group</th><th scope="col">Share of its replies <span class="quiet">[95% interval]</span></th><th scope="col" class="num">Replies</th></tr></thead>
        <tbody>
          {of.map((group) => (
            <tr key={`${group.label}-${group.level}`}>
              <th scope="row">{group.title}</th>
              <td>{group.share === null ? "–" : <Bar share={most ? group.share / most : 0} text={group.text} strong />}</td>
              <td class="num quiet">{count(group.of)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function OneReason({ reason, run }: { reason: Reason; run: Run }) {
  const { status, title, count: size, share, groups, examples } = reason;
  return (
    <section class="reason" aria-labelledby={`reason-${status}`}>
      <h2 id={`reason-${status}`}>
        <a data-row href={href("answers", { run: run.run, answer: status })}>{title}</a>{" "}
        <span class="quiet">{several(size, "reply", "replies")}, {percent(share)}</span>
      </h2>
      <Groups of={groups} label={title} />
      {examples.length > 0 && (
        <details open={examples.length < 7}>
          <summary>What came back: {several(examples.length, "reply", "replies")}</summary>
          <div class="examples">
            {examples.map(({ trial, repeat, reply }) => (
              <article key={`${trial}-${repeat}`} class="example">
                <h3><a data-row href={href("trial", { run: run.run, trial })}>Trial {trial}</a>{repeat > 0 && <span class="quiet"> repeat {repeat}</span>}</h3>
                <Quote text={reply} />
              </article>
            ))}
          </div>
        </details>
      )}
    </section>
  );
}
