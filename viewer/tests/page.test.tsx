import { settled } from "./dom";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { render } from "preact";
import { App } from "../src/app";
import type { Head } from "../src/documents";
import { go } from "../src/route";
import { Failure, type Name, type Source } from "../src/source";
import { forget, SourceContext } from "../src/use";
import { ESTIMATES, HEAD, LEAD, trial } from "./examples";

const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(1)</script>\u202e\u001b]0;x\u0007';

function source(head: Head, fail?: string): Source {
  const documents = { head, lead: LEAD, estimates: ESTIMATES, trial: trial(HOSTILE) };
  return {
    live: false,
    small: (src) => src,
    document: (name: Name) =>
      name === fail ? Promise.reject(new Failure("There is no such trial.")) : Promise.resolve(documents[name as keyof typeof documents] as never),
  };
}

let root = document.createElement("div");

async function shown(of: Source, address: string): Promise<HTMLElement> {
  render(null, root);
  root = document.createElement("div");
  document.body.replaceChildren(root);
  forget();
  go(address);
  render(<SourceContext.Provider value={of}><App /></SourceContext.Provider>, root);
  await settled();
  return root;
}

test("a hostile reply is text and nothing else", async () => {
  const root = await shown(source(HEAD), "#/trial?run=0&trial=3");
  assert.equal(root.querySelectorAll("script, img").length, 0);
  const text = root.querySelector("blockquote")?.textContent ?? "";
  assert.ok(text.includes("<script>alert(1)</script>"));
  assert.ok(text.includes("\\u202e\\x1b]0;x\\x07"));
});

test("what the server refuses is said in its sentence", async () => {
  const root = await shown(source(HEAD, "trial"), "#/trial?run=0&trial=99");
  assert.equal(root.querySelector("[role=alert]")?.textContent, "There is no such trial.");
});

test("the content note comes before everything else, once a visit", async () => {
  const noted = { ...HEAD, content_note: "Stereotypes are quoted." };
  const root = await shown(source(noted), "#/estimates?run=0");
  assert.equal(root.querySelector("table"), null);
  root.querySelector("button")?.click();
  await settled();
  assert.equal(root.querySelectorAll("tbody tr").length, 3);
  const again = await shown(source(noted), "#/");
  assert.ok(!again.textContent?.includes("Stereotypes are quoted."));
});

test("an address that names no page says so", async () => {
  const root = await shown(source(HEAD), "#/nowhere");
  assert.match(root.textContent ?? "", /no such page/);
});

test("no file makes elements of texts", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  for (const file of files) assert.doesNotMatch(readFileSync(`src/${file}`, "utf8"), /dangerouslySetInnerHTML|innerHTML|insertAdjacent/, file);
});
