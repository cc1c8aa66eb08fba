// Zooms into a box of a flame graph, moves between boxes with the arrow keys, and says what a box is. Without it
// the graph is there as a whole, with titles.
(function () {
  "use strict";
  // Less than this is no overlap, in percent.
  const LITTLE = 1e-6;
  const HOW = "Point at a box, or reach the graph with Tab and move with the arrow keys; Enter zooms in, Escape out.";
  for (const graph of document.querySelectorAll(".flame")) {
    const output = graph.nextElementSibling;
    const boxes = [...graph.querySelectorAll("button")].map((element) => {
      const [x, width, depth] = element.dataset.at.split(" ").map(Number);
      return { element, x, width, depth, end: x + width };
    });
    if (!boxes.length) continue;
    let shown = boxes[0], current = boxes[0];
    const say = (box) => { output.textContent = box ? box.element.title : HOW; };
    const zoom = (root) => {
      shown = root;
      graph.classList.toggle("zoomed", root !== boxes[0]);
      for (const box of boxes) {
        const from = Math.max(box.x, root.x), to = Math.min(box.end, root.end);
        const isHidden = to - from < LITTLE;
        box.element.hidden = isHidden;
        if (isHidden) continue;
        box.element.style.left = (from - root.x) / root.width * 100 + "%";
        box.element.style.width = (to - from) / root.width * 100 + "%";
        box.element.classList.toggle("below", box.depth < root.depth);
      }
    };
    const isHolding = (outer, inner) => outer.x - 1e-3 <= inner.x && inner.end <= outer.end + 1e-3;
    const move = (box) => {
      if (!box) return;
      current.element.tabIndex = -1;
      current = box;
      box.element.tabIndex = 0;
      // What is outside what is shown becomes visible with all.
      if (box.element.hidden) zoom(boxes[0]);
      box.element.focus();
    };
    // The box of those nearest in depth that comes next on one side.
    const beside = (way) => {
      const row = boxes.filter((box) => box.depth === current.depth && !box.element.hidden);
      return row.sort((a, b) => a.x - b.x)[row.indexOf(current) + way];
    };
    const widest = (some) => some.reduce((most, box) => (!most || box.width > most.width ? box : most), undefined);
    const to = {
      ArrowUp: () => widest(boxes.filter((box) => box.depth === current.depth + 1 && isHolding(current, box))),
      ArrowDown: () => boxes.find((box) => box.depth === current.depth - 1 && isHolding(box, current)),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => boxes[0],
    };
    for (const box of boxes) {
      box.element.tabIndex = box === current ? 0 : -1;
      box.element.addEventListener("click", () => { move(box); zoom(box === shown ? boxes[0] : box); });
      box.element.addEventListener("focus", () => say(box));
      box.element.addEventListener("pointerenter", () => say(box));
    }
    graph.addEventListener("pointerleave", () => say(graph.contains(document.activeElement) ? current : null));
    graph.addEventListener("focusout", () => say(null));
    graph.addEventListener("keydown", (event) => {
      if (event.key === "Escape") zoom(boxes[0]);
      else if (to[event.key]) move(to[event.key]());
      else return;
      event.preventDefault();
    });
    say(null);
  }
})();
