// Shows only the series that a reader wants. Without it the page has all of them.
(function () {
  "use strict";
  const bar = document.querySelector(".filters");
  if (!bar) return;
  const search = bar.querySelector("input"), said = bar.querySelector("output");
  const buttons = [...bar.querySelectorAll("button")];
  const text = (e) => [...e.querySelectorAll("h3, .claim, .says, .found, th, td")].map((p) => p.textContent).join(" ").toLowerCase();
  // What is in a card goes with it.
  const apart = [...document.querySelectorAll(".series")].filter((e) => !e.parentElement.closest(".card"));
  const series = apart.map((e) => ({ e, text: text(e) }));
  const groups = [...document.querySelectorAll(".workload, #findings, #overview, .variants, details.list")];
  // What was folded before a filter was set.
  const folded = new Map();

  function show() {
    const pressed = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.show);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = pressed.length === 0 && words.length === 0;
    let shown = 0, of = 0;
    for (const { e, text } of series) {
      const is = all || ((pressed.length === 0 || pressed.some((c) => e.classList.contains(c))) && words.every((w) => text.includes(w)));
      e.classList.toggle("away-by-filter", !is);
      if (e.tagName !== "TR") { of++; if (is) shown++; }
    }
    for (const group of groups) {
      const left = series.some(({ e }) => group.contains(e) && !e.classList.contains("away-by-filter"));
      group.classList.toggle("away-by-filter", !all && !left);
      if (group.tagName !== "DETAILS") continue;
      if (!all && !folded.has(group)) folded.set(group, group.open);
      if (!all) group.open = left;
      else if (folded.has(group)) { group.open = folded.get(group); folded.delete(group); }
    }
    said.textContent = all ? "" : shown + " of " + of + " series";
  }

  for (const button of buttons) button.onclick = () => {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
    show();
  };
  search.oninput = show;
  bar.hidden = false;

  // A link into what is folded unfolds it.
  const unfold = () => {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = at; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (at) at.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
