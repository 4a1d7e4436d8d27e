import "./dom";
import assert from "node:assert/strict";
import test from "node:test";
import { changed, href, parse } from "../src/route";
import { queryOf } from "../src/source";

test("an address holds every state and comes back as it was", () => {
  const address = href("answers", { run: 0, q: "a&b=c?#/é", "F.skin tone": "light & dark", status: null, sort: "" });
  const { page, query } = parse(address);
  assert.equal(page, "answers");
  assert.deepEqual(Object.fromEntries(query), { run: "0", q: "a&b=c?#/é", "F.skin tone": "light & dark" });
});

test("an address without anything is the first page", () => {
  assert.equal(parse("").page, "");
  assert.equal(parse("#/").page, "");
  assert.equal(href(""), "#/");
});

test("what changes a list begins at its first row", () => {
  assert.equal(changed(parse("#/answers?run=0&from=50&q=a"), { q: "b" }), "#/answers?run=0&q=b");
  assert.equal(changed(parse("#/answers?run=0&q=a"), { q: "" }), "#/answers?run=0");
});

test("a server is asked with the names it knows and no others", () => {
  const query = new URLSearchParams("run=0&open=3&F.gender=female&L.word=x&q=a");
  assert.equal(queryOf("answers", query).toString(), "run=0&F.gender=female&q=a");
});
