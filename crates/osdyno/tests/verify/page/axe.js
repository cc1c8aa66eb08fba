// Leaves the rules of axe-core that the page breaks, and how it is shown.
addEventListener("load", async () => {
  const { passes, violations } = await axe.run();
  const broken = violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
  // That something covers a link is no rule of axe-core.
  scrollTo(0, 0);
  for (const link of document.querySelectorAll(".way a")) {
    // Its first line: it may be broken.
    const [box] = link.getClientRects();
    const seen = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (!link.contains(seen)) broken.push(["covered", link.outerHTML]);
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({ kept: passes.length, broken, dark, width: innerWidth });
  document.body.append(result);
});
