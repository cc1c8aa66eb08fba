// Uses a page as a reader would, and leaves what it saw in the page.
addEventListener("load", async () => {
  const seen = {}, pause = () => new Promise((done) => setTimeout(done, 50));
  const every = (selector) => [...document.querySelectorAll(selector)];
  const visible = (e) => e.checkVisibility();
  const series = every(".series").filter((e) => e.tagName !== "TR" && !e.parentElement.closest(".card"));
  const bar = document.querySelector(".filters"), said = bar.querySelector("output"), search = bar.querySelector("input");
  const buttons = [...bar.querySelectorAll("button")];
  const open = () => every("details").filter((d) => d.open).length;
  // What a filter has left: series, those of them that can be seen, and headings without anything below.
  const left = () => {
    const shown = series.filter((e) => getComputedStyle(e).display !== "none");
    const empty = every(".workload, #findings").filter((g) => visible(g) && !shown.some((e) => g.contains(e)));
    return { shown: shown.length, visible: shown.filter(visible).length, empty: empty.length, said: said.textContent };
  };
  seen.series = series.length;
  seen.bar = visible(bar);
  seen.open = open();
  // Cards may be folded, and have their plots once they are unfolded.
  const groups = every("article.card details.list:not([open])");
  groups.forEach((d) => (d.open = true));
  seen.cards = every("article.card").length;
  seen.plots = every("article.card").filter((card) => [...card.querySelectorAll("svg.plot")].some(visible)).length;
  groups.forEach((d) => (d.open = false));
  seen.filters = buttons.map((button) => {
    button.click();
    const of = series.filter((e) => e.classList.contains(button.dataset.show)).length;
    const one = { name: button.dataset.show, of, ...left() };
    button.click();
    return { ...one, after: left().shown };
  });
  buttons.slice(0, 2).forEach((button) => button.click());
  const pressed = buttons.slice(0, 2).map((button) => button.dataset.show);
  seen.two = { of: series.filter((e) => pressed.some((name) => e.classList.contains(name))).length, ...left() };
  buttons.slice(0, 2).forEach((button) => button.click());
  const sought = (words) => {
    search.value = words;
    search.dispatchEvent(new Event("input"));
    return left();
  };
  const words = series[series.length - 1].querySelector("h3").textContent.trim();
  seen.words = words;
  seen.sought = [words.toUpperCase(), words + " nosuchword"].map(sought);
  seen.cleared = sought("");
  seen.opened = open();

  const folded = every("details").find((d) => !d.open && d.querySelector("[id]"));
  location.hash = "#" + folded.querySelector("[id]").id;
  await pause();
  seen.unfolded = folded.open;

  const zoom = document.querySelector(".zoom:not([hidden])");
  zoom.scrollIntoView();
  zoom.querySelector("button").click();
  await pause();
  const over = zoom.querySelector(".u-over"), at = zoom.querySelector(".at");
  // What is said under the pointer, at shares of the plot from its left and from its top.
  const point = async (across, down, type = "mousemove") => {
    const box = over.getBoundingClientRect();
    const place = { clientX: box.left + box.width * across, clientY: box.top + box.height * down, bubbles: true, movementX: 1, movementY: 1 };
    over.dispatchEvent(type === "wheel" ? new WheelEvent(type, { ...place, deltaY: -1, cancelable: true }) : new MouseEvent(type, place));
    await new Promise((done) => setTimeout(done, 1));
    return at.textContent;
  };
  seen.canvas = !!zoom.querySelector("canvas");
  seen.point = "";
  for (let i = 0; i < 400 && !seen.point.includes("trial"); i++) seen.point = await point(0.9, i / 400);
  seen.left = await point(0.1, 0.01);
  await point(0.9, 0.01);
  for (let i = 0; i < 6; i++) await point(0.9, 0.01, "wheel");
  seen.nearer = await point(0.1, 0.01);
  const axes = zoom.querySelector("button");
  seen.axes = [axes.textContent];
  axes.click();
  await pause();
  seen.axes.push(axes.textContent);
  zoom.querySelectorAll("button")[1].click();
  await pause();
  seen.closed = !zoom.querySelector("canvas");

  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
});
