// Leaves the rules of axe-core that the page breaks, and how it is shown.
addEventListener("load", async () => {
  const { passes, violations } = await axe.run();
  const broken = violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({ kept: passes.length, broken, dark, width: innerWidth });
  document.body.append(result);
});
