"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const items = [...document.querySelectorAll("fieldset[data-item]")];
  const ticks = [...document.querySelectorAll("input[data-item]")];
  const things = document.forms[0].dataset.things ?? "statements";
  const chosen = (item) => item.querySelector("input:checked");
  const opened = Date.now();
  let saved = true;
  document.documentElement.classList.add("js");
  document.querySelector(".end").hidden = false;

  const count = () => {
    const rated = items.filter(chosen).length;
    $("progress").textContent = `${rated} of ${items.length} ${things} rated.`;
    return rated;
  };
  document.forms[0].addEventListener("change", () => { saved = false; $("problem").textContent = ""; count(); });
  document.forms[0].addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("beforeunload", (event) => { if (!saved) event.preventDefault(); });
  count();

  $("save").addEventListener("click", () => {
    const rater = $("rater").value.trim();
    let problem = "";
    if (!/^[A-Za-z0-9._-]+$/.test(rater)) {
      problem = "Please give your ratings a name first, of letters, digits, dots, hyphens and underscores.";
      $("rater").focus();
    } else if (count() === 0) {
      problem = `Please rate at least one of the ${things} first.`;
    }
    $("problem").textContent = problem;
    if (problem) return;
    const seconds = Math.round((Date.now() - opened) / 1000);
    const lines = items.map((item) => `${rater},${item.dataset.item},${chosen(item)?.value ?? ""},${seconds}`);
    for (const tick of ticks) {  // one that is not ticked is a "no" where the picture was looked at
      const answered = tick.checked || tick.closest(".picture").querySelector("input:checked");
      lines.push(`${rater},${tick.dataset.item},${tick.checked ? 1 : answered ? 2 : ""},${seconds}`);
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["rater,item,rating,duration\r\n", lines.join("\r\n"), "\r\n"], { type: "text/csv" }));
    link.download = `ratings-${rater}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    saved = true;
  });
})();
