"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const amount = (cell) => {
    if (cell.dataset.v !== undefined) return parseFloat(cell.dataset.v);
    const text = cell.textContent.replace(/[,%×]/g, "").replace("−", "-").replace("< .001", "0").trim();
    const value = parseFloat(text);
    return Number.isNaN(value) ? -Infinity : value;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.querySelectorAll("thead th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const at = head.cellIndex;
        const compare = head.dataset.sort === "number"
          ? (a, b) => { const x = amount(a.cells[at]), y = amount(b.cells[at]); return x === y ? 0 : x < y ? -1 : 1; }
          : (a, b) => b.cells[at].textContent.localeCompare(a.cells[at].textContent);
        const rows = [...table.tBodies[0].rows].sort(compare);
        table.tBodies[0].append(...(down ? rows.reverse() : rows));
      });
    }
  }

  for (const tools of document.querySelectorAll(".tools")) {
    const table = tools.nextElementSibling.querySelector("table");
    const body = table.tBodies[0];
    tools.querySelector(".filter").addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      for (const row of body.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    });
    tools.querySelector(".byeffect").addEventListener("change", (event) => {
      const on = event.target.checked;
      table.classList.toggle("sorted", on);
      const key = on ? (row) => -parseFloat(row.dataset.size) : (row) => parseFloat(row.dataset.place);
      body.append(...[...body.rows].sort((a, b) => key(a) - key(b)));
    });
  }

  for (const table of document.querySelectorAll("table.heat")) {
    const line = table.parentElement.nextElementSibling;
    table.addEventListener("click", (event) => {
      const cell = event.target.closest("td");
      if (!cell || !line || !line.classList.contains("picked")) return;
      const heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
      for (const other of table.querySelectorAll("td.chosen")) other.classList.remove("chosen");
      cell.classList.add("chosen");
      const name = cell.parentElement.cells[0].lastChild.textContent;
      line.textContent = `${name}, ${heads[cell.cellIndex].title}: ${cell.title}`;
      line.hidden = false;
    });
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")].filter((d) => d.querySelectorAll("tr").length < 80);
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
})();
