"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const { packet, task, rater } = document.querySelector("main").dataset;
  const place = `facevalue-review/${packet}/${rater}`;
  const pages = [$("start"), ...document.querySelectorAll(".card"), $("end")];
  const questions = [...document.querySelectorAll("fieldset[data-item]")];
  const ticks = [...document.querySelectorAll("input[data-item]")];
  const chosen = (question) => question.querySelector("input:checked");
  let at = 0, seconds = 0, since = Date.now(), lost = false;
  document.documentElement.classList.add("js");

  const answers = () => {
    const out = {};
    for (const question of questions) if (chosen(question)) out[question.dataset.item] = Number(chosen(question).value);
    for (const tick of ticks) {  // one that is not ticked is a "no" where anything on its page was answered
      const answered = tick.closest(".card").querySelector("input:checked");
      if (answered) out[tick.dataset.item] = tick.checked ? 1 : 2;
    }
    return out;
  };
  const pause = () => {  // an hour's pause is no hour's work: no page takes more than five minutes
    const passed = Math.min((Date.now() - since) / 1000, 300);
    since = Date.now();
    return passed;
  };
  const spent = () => Math.round(seconds += pause());
  const put = (values) => {
    for (const question of questions)
      for (const input of question.querySelectorAll("input")) input.checked = Number(input.value) === values[question.dataset.item];
    for (const tick of ticks) tick.checked = values[tick.dataset.item] === 1;
  };
  const keep = () => {
    try {
      localStorage.setItem(place, JSON.stringify({ at, seconds: spent(), answers: answers() }));
    } catch {
      lost = true;
      $("problem").textContent = "This browser keeps nothing: save your answers before you close the page.";
    }
  };
  const restore = () => {
    try {
      const before = JSON.parse(localStorage.getItem(place) ?? "null");
      if (before === null) return;
      put(before.answers);
      seconds = Number(before.seconds) || 0;
      at = Math.min(Math.max(Number(before.at) || 0, 0), pages.length - 1);
      if (at > 0) $("begin").textContent = "Go on where you were";
    } catch { /* what another page left there is no answer */ }
  };
  const count = () => {
    const done = questions.filter(chosen).length;
    $("done").max = Math.max(questions.length, 1);
    $("done").value = done;
    $("progress").textContent = `${done} of ${questions.length} answered`;
  };
  const show = (page) => {
    at = Math.min(Math.max(page, 0), pages.length - 1);
    pages.forEach((section, number) => section.classList.toggle("now", number === at));
    $("bar").hidden = at === 0;
    $("next").hidden = at === pages.length - 1;
    if (at > 0) {
      keep();
      window.scrollTo(0, 0);
      (pages[at].querySelector("input:checked, input") ?? pages[at]).focus({ preventScroll: true });
    }
  };
  const seal = (text) => {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
    return hash.toString(16).padStart(8, "0");
  };
  const save = () => {
    const given = answers(), took = spent();
    if (Object.keys(given).length === 0) {
      $("problem").textContent = "Please answer at least one question first.";
      return;
    }
    const items = Object.keys(given).sort();
    const sealed = seal([packet, rater, took, ...items.map((item) => `${item}=${given[item]}`)].join("|"));
    const saved = { format: "facevalue-review", version: 1, packet, task, rater, seconds: took, answers: given, seal: sealed };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1), "\n"], { type: "application/json" }));
    link.download = `review-${packet}-${rater}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    $("problem").textContent = "";
    lost = false;
  };

  document.forms[0].addEventListener("change", () => { $("problem").textContent = ""; keep(); count(); });
  document.forms[0].addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("beforeunload", (event) => {
    if (!$("bar").hidden) keep();
    if (lost) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) since = Date.now();
    if (document.hidden && !$("bar").hidden) keep();
  });
  window.addEventListener("storage", (event) => {  // another tab of this page
    const here = at;
    if (event.key === place) { restore(); count(); }
    at = here;
  });
  $("begin").addEventListener("click", () => show(Math.max(at, 1)));
  $("next").addEventListener("click", () => show(at + 1));
  $("back").addEventListener("click", () => show(at - 1));
  $("save").addEventListener("click", save);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("bar").hidden) return;
    const focused = document.activeElement, moves = focused?.type !== "radio";  // arrows move among its answers
    if (event.key === "n" || (moves && event.key === "ArrowRight")) { event.preventDefault(); show(at + 1); return; }
    if (event.key === "p" || (moves && event.key === "ArrowLeft")) { event.preventDefault(); show(at - 1); return; }
    if (event.key === "Enter" && focused?.tagName === "INPUT") { event.preventDefault(); show(at + 1); return; }
    if (!/^[1-9]$/.test(event.key)) return;
    const on_page = [...pages[at].querySelectorAll("fieldset")];
    const question = focused?.closest("fieldset") ?? on_page.find((q) => !chosen(q)) ?? on_page[0];
    const input = question?.querySelectorAll("input")[Number(event.key) - 1];
    if (!input) return;
    event.preventDefault();
    input.focus();
    if (input.type === "checkbox") input.checked = !input.checked; else input.checked = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    if (input.type === "radio") on_page[on_page.indexOf(question) + 1]?.querySelector("input").focus();
  });
  restore();
  count();
  const resumed = at;
  show(0);
  at = resumed;  // "Begin" goes there
})();
