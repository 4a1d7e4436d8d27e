// What scrolls can be reached by keyboard, each landmark says what it is, and the page of results has a heading.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.setAttribute("aria-level", "2");
  const article = document.querySelector("article");
  if (article && !document.querySelector("h1")) article.insertAdjacentHTML("afterbegin", "<h1>Search</h1>");
  for (const part of document.querySelectorAll("pre, .table-wrapper")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
});
