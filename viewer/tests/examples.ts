/** Small documents, typed as the server's. */

import type { AnswerRow, Estimates, Head, Lead, Row, Trial } from "../src/documents";

export const HEAD: Head = {
  version: "1.0", title: "Hiring screen", audit: false, content_note: null, illustrated: null,
  runs: [{ run: "0", label: "sim/default", study: "hiring", study_title: "Hiring screen", model: "sim/default", when: null, complete: true, interventions: [], progress: null }],
};

export const LEAD: Lead = {
  asked: { prompt: "Who?", pictures: [], no_picture: "No picture is shown.", facts: ["12 people"] },
  sentences: ["A difference was found."], more: [], cautions: [], provisional: false,
};

export const row = (key: string, value: number | null, gender: string, verdict: string | null = "inconclusive"): Row => ({
  key, measure: "share", title: `Share: ${gender}`, labels: { gender: { level: gender, title: gender.toUpperCase() } },
  value, low: null, high: null, page_low: null, page_high: null, level: 0.95, n: 4, clusters: 2, unit: "share", p: null,
  floor: null, verdict, caveat: "", text: { value: `${value}`, interval: "", p: "" }, scale: { min: -1, max: 1, zero: 0 },
});

export const ESTIMATES: Estimates = {
  total: 3, labels: [{ name: "gender", title: "Gender" }], measures: [{ level: "share", title: "Share" }], facets: {},
  rows: [row("a", 0.1, "female"), row("b", null, "male"), row("c", 0.7, "male", "difference found")],
};

export const ANSWER: AnswerRow = {
  trial: 3, repeat: 0, factors: { gender: "Female" }, status: "ok", answer: "yes", why: null, reply: "Yes.", pictures: [], when: null,
};

export const trial = (reply: string): Trial => ({
  trial: 3, factors: { gender: "Female" }, levels: { gender: "female" }, pictures: [], no_picture: "None.", prompt: "Who?", system: null, turns: [], options: null,
  replies: [{
    repeat: 0, status: "ok", reply, cut: 0, answer: null, why: "refused", error: null, probs: null, prompt_tokens: null,
    completion_tokens: null, latency_ms: null, when: null,
  }],
  judged: [], attention: [], checks: [], previous: 2, next: null, command: "facevalue show RUN --trial 3",
});
