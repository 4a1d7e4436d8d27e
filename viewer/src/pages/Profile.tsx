/** The profile of an audit: a square for each group and kind of question, in the report's words. */

import type { Profile, ProfileGroup, Run, Square } from "../documents";
import { Problem, Ready } from "../parts/State";
import { Said } from "../parts/Text";
import { href } from "../route";
import { useDocument } from "../use";

function Cell({ square, kind, group }: { square: Square | undefined; kind: string; group: string }) {
  if (!square?.run) return <td class="blank"><span class="hidden">not shown</span></td>;
  const { run, key, mark, symbol, text, reading } = square;
  const address = key === null ? href("estimates", { run, q: group }) : href("cell", { run, key });
  return (
    <td>
      <a href={address} class={`m-${mark}${square.page_only ? " page" : ""}`} data-row data-question={kind} title={`${kind}: ${reading}`}>
        <span><span class="sign" aria-hidden="true">{symbol}</span><span class="hidden">{mark}: </span>{text}</span>
      </a>
    </td>
  );
}

/** Things that follow each other and share a text, with that text. */
function runsOf<T>(of: T[], text: (thing: T) => string): [string, T[]][] {
  const out: [string, T[]][] = [];
  for (const thing of of) {
    const last = out.at(-1);
    if (last?.[0] === text(thing)) last[1].push(thing);
    else out.push([text(thing), [thing]]);
  }
  return out;
}

/** Marks of squares in which nothing is found. */
const QUIET = ["none", "unmeasured", "unanswered"];
const finds = ({ squares }: ProfileGroup) => squares.some(({ mark }) => !QUIET.includes(mark));

/** Groups of a dimension: those of which something is found, and the others folded, as the report has them. */
function Dimension({ profile, groups, title }: { profile: Profile; groups: ProfileGroup[]; title: string }) {
  const told = groups.filter(finds);
  const folded = groups.filter((group) => !finds(group));
  return (
    <>
      {told.length > 0 && <Matrix profile={profile} groups={told} title={title} />}
      {folded.length > 0 && (
        <details class="numbers">
          <summary>
            {told.length ? `${folded.length} more with nothing found` : `${title}: nothing found of ${folded.length} groups`}
            <span class="quiet"> and the largest difference that would have gone unnoticed</span>
          </summary>
          <Matrix profile={profile} groups={folded} title={title} />
        </details>
      )}
    </>
  );
}

function Matrix({ profile, groups, title }: { profile: Profile; groups: ProfileGroup[]; title: string }) {
  const { kinds } = profile;
  return (
    <div class="matrixbox" tabindex={0} role="group" aria-label={`Groups by kind of question: ${title}`}>
      <table class="matrix">
        <caption><Said text={title} /></caption>
        <thead>
          <tr>
            <th rowSpan={2} scope="col"><span class="hidden">Group</span></th>
            {runsOf(kinds, ({ study }) => study).map(([study, of]) => <th key={study} scope="colgroup" colSpan={of.length} class="study">{study}</th>)}
          </tr>
          <tr>{kinds.map(({ id, title: kind }) => <th key={id} scope="col">{kind}</th>)}</tr>
        </thead>
        <tbody>
          {groups.map(({ group, title: name, squares }) => (
            <tr key={group}>
              <th scope="row">{name}</th>
              {kinds.map(({ id, title: kind }) => (
                <Cell key={id} square={squares.find((square) => square.kind === id)} kind={kind} group={name} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function ProfilePart({ runs }: { runs: Run[] }) {
  const loaded = useDocument("profile", new URLSearchParams());
  if (loaded.error) return runs.length > 1 ? <Problem text={loaded.error} /> : null;
  return (
    <section class="profile" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <Ready of={loaded}>
        {(profile) => {
          const models = new Set(profile.groups.map(({ model }) => model)).size;
          const tables = runsOf(profile.groups, ({ model, dimension }) => `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}${models > 1 ? `: ${model}` : ""}`);
          return (
          <>
            <div class="answer">{profile.sentences.map((text, place) => <p key={text} class={place ? "aside" : "sentence"}>{text}</p>)}</div>
            <ul class="legend">
              {profile.marks.map(({ mark, symbol, meaning }) => (
                <li key={mark}><span class={`sign m-${mark}`} aria-hidden="true">{symbol}</span>{meaning}</li>
              ))}
            </ul>
            {tables.map(([title, groups]) => <Dimension key={title} profile={profile} groups={groups} title={title} />)}
            <details class="numbers"><summary>What is pooled, and what is not</summary>{profile.notes.map((note) => <p key={note}>{note}</p>)}</details>
          </>
          );
        }}
      </Ready>
    </section>
  );
}
