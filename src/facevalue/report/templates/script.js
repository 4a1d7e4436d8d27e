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
      if (!head.textContent.trim()) continue;
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

  const sections = [...document.querySelectorAll("details.fold")];
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target.querySelector(":scope > details") || target; part; part = part.parentElement.closest("details")) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  for (const link of links.values()) link.addEventListener("click", () => setTimeout(reveal));
  reveal();

  const all = document.getElementById("folds");
  if (all) { // pages of audits and profiles have no folds
    const named = () => {
      const open = sections.every((part) => part.open);
      all.textContent = open ? "Close all" : "Open all";
    };
    all.addEventListener("click", () => {
      const open = !sections.every((part) => part.open);
      for (const part of sections) part.open = open;
    });
    for (const part of sections) part.addEventListener("toggle", named);
    named();
  }

  const list = document.querySelector("nav ol");
  const here = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = entry.isIntersecting && links.get(entry.target.id);
      if (!link) continue;
      for (const other of links.values()) other.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      list.scrollTo({ left: link.offsetLeft - list.offsetLeft - 16, top: link.offsetTop - list.offsetTop - list.clientHeight / 2 });
    }
  }, { rootMargin: "-15% 0px -80% 0px" });
  for (const section of document.querySelectorAll(".sections > section[id]")) here.observe(section);

  for (const term of document.querySelectorAll("button.term")) {
    const definition = document.getElementById(term.getAttribute("popovertarget"));
    if (!definition || !definition.showPopover) continue;
    let pinned = false;
    const show = () => {
      definition.showPopover();
      if (innerWidth <= 720) return; // a sheet at the bottom
      const at = term.getBoundingClientRect();
      definition.style.inset = "auto";
      definition.style.left = `${Math.max(8, Math.min(at.left, innerWidth - definition.offsetWidth - 16))}px`;
      const below = at.bottom + 6;
      const fits = below + definition.offsetHeight < innerHeight;
      definition.style.top = `${fits ? below : at.top - definition.offsetHeight - 6}px`;
    };
    const leave = () => setTimeout(() => { if (!pinned && !definition.matches(":hover")) definition.hidePopover(); }, 150);
    term.addEventListener("mouseenter", show);
    term.addEventListener("mouseleave", leave);
    definition.addEventListener("mouseleave", leave);
    term.addEventListener("focus", () => { if (term.matches(":focus-visible")) show(); });
    term.addEventListener("blur", leave);
    term.addEventListener("click", (event) => {
      event.preventDefault();
      pinned = !pinned;
      if (pinned) show(); else definition.hidePopover();
    });
    definition.addEventListener("toggle", (event) => { if (event.newState === "closed") pinned = false; });
  }
})();
(() => {
  const number = (cell) => {
    const value = parseFloat(cell.textContent.replace("−", "-").replace("+", ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  const text = (cell) => cell.textContent;

  const rowsBy = (table, key, down) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => (a === b ? 0 : (typeof a === "string" ? a.localeCompare(b) : a - b)));
    body.append(...(down ? rows.reverse() : rows).map(([, row]) => row));
  };
  const columnsBy = (table, order) => {
    for (const row of [table.tHead.rows[0], ...table.tBodies[0].rows]) {
      const cells = [...row.cells];
      row.append(...order.map((i) => cells[i]));
    }
  };
  const chooser = (label, choices, act) => {
    const outer = document.createElement("label");
    const select = document.createElement("select");
    for (const [value, name] of choices) select.append(new Option(name, value));
    select.addEventListener("change", () => act(select.value));
    outer.append(label + " ", select);
    return outer;
  };

  const arm = (table) => {
    const box = table.parentElement;
    const line = box.nextElementSibling;
    const fixed = table.querySelector("thead th.w") ? 2 : 1;
    const heads = () => [...table.tHead.rows[0].cells];
    const middle = (row) => {
      const values = [...row.cells].slice(fixed).map(number).filter(Number.isFinite);
      return values.length ? values.reduce((a, b) => a + b, 0) / values.length : -Infinity;
    };
    const effect = (row) => (fixed === 2 ? number(row.cells[1]) : middle(row));
    const firstRows = [...table.tBodies[0].rows];
    const firstColumns = heads().slice(fixed);
    const clear = () => { for (const head of heads()) head.removeAttribute("aria-sort"); };

    const tools = document.createElement("p");
    tools.className = "gridtools";
    tools.append(
      chooser("Rows", [["first", "as ordered by the report"], ["effect", "by overall effect"], ["size", "by strongest cell"], ["name", "by name"]], (how) => {
        clear();
        if (how === "first") table.tBodies[0].append(...firstRows);
        if (how === "name") rowsBy(table, (row) => text(row.cells[0]), false);
        if (how === "effect") rowsBy(table, effect, true);
        if (how === "size") {
          rowsBy(table, (row) => {
            const values = [...row.cells].slice(fixed).map(number).filter(Number.isFinite);
            const own = effect(row);
            return Math.max(-Infinity, ...values.map((value) => Math.abs(value - (Number.isFinite(own) ? own : 0))));
          }, true);
        }
      }),
      chooser("Columns", [["first", "as ordered by the report"], ["effect", "by mean"], ["range", "by range"], ["name", "by name"]], (how) => {
        const now = heads();
        const places = now.map((_, i) => i).slice(fixed);
        const rows = [...table.tBodies[0].rows];
        const values = (i) => rows.map((row) => number(row.cells[i])).filter(Number.isFinite);
        const keys = new Map(places.map((i) => {
          const own = values(i);
          if (how === "effect") return [i, own.length ? -own.reduce((a, b) => a + b, 0) / own.length : Infinity];
          if (how === "range") return [i, own.length ? Math.min(...own) - Math.max(...own) : Infinity];
          return [i, how === "first" ? firstColumns.indexOf(now[i]) : 0];
        }));
        const order = how === "name"
          ? places.sort((a, b) => text(now[a]).localeCompare(text(now[b])))
          : places.sort((a, b) => keys.get(a) - keys.get(b));
        columnsBy(table, order);
      }),
    );
    box.before(tools);

    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (!head || head.classList.contains("c")) return;
      const down = head.getAttribute("aria-sort") !== "descending";
      clear();
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rowsBy(table, (row) => number(row.cells[head.cellIndex]), down);
    });

    const choose = (cell) => {
      for (const other of table.querySelectorAll("td.chosen")) other.classList.remove("chosen");
      cell.classList.add("chosen");
      const column = text(heads()[cell.cellIndex]);
      line.textContent = `${text(cell.parentElement.cells[0])}, ${column}: ${cell.title || text(cell) || "does not apply"}`;
      line.hidden = false;
    };
    table.addEventListener("click", (event) => {
      const cell = event.target.closest("td");
      if (cell) choose(cell);
    });
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const now = table.querySelector("td.chosen");
      if (!step || !now) return;
      const row = table.tBodies[0].rows[now.parentElement.sectionRowIndex + step[0]];
      const next = row && row.cells[now.cellIndex + step[1]];
      if (!next || next.tagName !== "TD") return;
      event.preventDefault();
      choose(next);
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  };

  // Tables in closed parts are armed when they open: a page may have a hundred of them.
  const armed = new WeakSet();
  const armVisible = () => {
    for (const table of document.querySelectorAll("table.cells")) {
      if (armed.has(table) || table.closest("details:not([open])")) continue;
      armed.add(table);
      arm(table);
    }
  };
  for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", armVisible);
  armVisible();
})();
