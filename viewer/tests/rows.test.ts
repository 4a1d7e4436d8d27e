import assert from "node:assert/strict";
import test from "node:test";
import { comparedOf, estimatesOf } from "../src/rows";
import { answersOf, type StoredAnswer, type Table, trialOf } from "../src/stored";
import { percent, visible } from "../src/text";
import { ESTIMATES } from "./examples";

const estimates = (query: string) => estimatesOf(ESTIMATES, new URLSearchParams(query));

test("estimates without a value come last whichever way they are sorted", () => {
  assert.deepEqual(estimates("sort=value").rows.map((row) => row.key), ["a", "c", "b"]);
  assert.deepEqual(estimates("sort=-value").rows.map((row) => row.key), ["c", "a", "b"]);
});

test("a label's levels are counted without its own choice", () => {
  const { total, facets } = estimates("L.gender=male&verdict=inconclusive");
  assert.equal(total, 1);
  assert.deepEqual(facets.gender?.map(({ level, count }) => [level, count]), [["female", 1], ["male", 1]]);
});

test("trials side by side are filtered by the words of a factor", () => {
  const of = (trial: number, gender: string) => ({ trial, factors: { gender }, pictures: [], prompt: "Who?", replies: [], flipped: false, shift: null });
  const all = { sentences: [], sides: [], factors: [{ name: "gender", title: "Gender" }], facets: {}, total: 3, rows: [of(1, "Female"), of(2, "Male"), of(3, "Male")] };
  const some = comparedOf(all, new URLSearchParams("F.gender=Male"));
  assert.equal(some.total, 2);
  assert.deepEqual(some.facets["gender"]?.map(({ level, count }) => [level, count]), [["Male", 2], ["Female", 1]]);
});

test("all words of a search must stand in a row", () => {
  assert.equal(estimates("q=share MALE found").total, 1);
  assert.equal(estimates("q=share nobody").total, 0);
});

const answer = (trial: number, repeat: number, na: string | null): StoredAnswer => ({
  trial: BigInt(trial), repeat, status: "ok", answer: na ? null : "yes", why: na && "Refused", reply: na ? "I won't" : "Yes",
  when: `2026-01-0${trial}T10:00:00`, na, levels: '{"gender":"f"}', factors: '{"gender":"Female"}', pictures: "[]", prompt: "Who?",
  system: null, options: '["yes","no"]', probs: null, attention: null, judged: null, checks: null, prompt_tokens: 5, completion_tokens: 1, latency_ms: 20,
});
const ROWS = [answer(1, 0, null), answer(1, 1, "refused"), answer(4, 0, null), answer(9, 0, "refused")];
const ABOUT = { factors: [{ name: "gender", title: "Gender" }], command: "facevalue show RUN --trial {trial}" };

function table(): Table & { reads: [number, number, string[] | undefined][] } {
  const reads: [number, number, string[] | undefined][] = [];
  return {
    length: ROWS.length, reads,
    read(from, until, columns) {
      reads.push([from, until, columns]);
      return Promise.resolve(ROWS.slice(from, until));
    },
  };
}

test("a page of answers without a filter reads its own rows only", async () => {
  const rows = table();
  const page = await answersOf(rows, ABOUT, new URLSearchParams("from=2&n=1"));
  assert.deepEqual(rows.reads, [[2, 3, undefined]]);
  assert.deepEqual([page.total, page.rows[0]?.trial], [4, 4]);
});

test("answers are filtered by level, reason, time and words without the heavy columns", async () => {
  const rows = table();
  const page = await answersOf(rows, ABOUT, new URLSearchParams("answer=refused&F.gender=f&since=2026-01-02&q=WON"));
  assert.deepEqual(page.rows.map((row) => row.trial), [9]);
  assert.ok(!rows.reads[0]?.[2]?.includes("prompt"));
  assert.deepEqual(page.facets.gender, [{ level: "f", title: "Female", count: 1 }]);
});

test("a trial holds its repeats and the trials beside it", async () => {
  const trial = await trialOf(table(), ABOUT, new URLSearchParams("trial=4"));
  assert.deepEqual([trial.previous, trial.next, trial.command], [1, 9, "facevalue show RUN --trial 4"]);
  assert.equal((await trialOf(table(), ABOUT, new URLSearchParams("trial=1"))).replies.length, 2);
  await assert.rejects(trialOf(table(), ABOUT, new URLSearchParams("trial=2")), /no trial 2/);
});

test("what steers a terminal or turns the writing is spelled as in the terminal", () => {
  assert.equal(visible("a\u001b[2J\u202eb\tc\n"), "a\\x1b[2J\\u202eb\tc\n");
});

test("small shares are never none", () => {
  assert.deepEqual([percent(0), percent(0.0004), percent(0.061), percent(0.5)], ["0%", "< .1%", "6.1%", "50%"]);
});
