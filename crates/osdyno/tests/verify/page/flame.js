// Walks and zooms the first flame graph of a page as a reader does with the keyboard, and writes down what was there.
addEventListener("load", () => {
  const graph = document.querySelector(".flame"), said = graph.nextElementSibling;
  const boxes = [...graph.querySelectorAll("button")];
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const width = (element) => element.getBoundingClientRect().width;
  const stops = boxes.filter((box) => box.tabIndex === 0).length;
  boxes[0].focus();
  const steps = ["ArrowUp", "ArrowUp", "ArrowRight", "ArrowLeft", "Enter", "Escape", "ArrowDown"].map((key) => {
    // What Enter does to a button.
    if (key === "Enter") document.activeElement.click(); else press(key);
    const at = document.activeElement;
    const name = at.textContent.split(" ")[0], share = Math.round(width(at) / width(graph) * 100);
    const isSaid = said.textContent.startsWith(name + ": ");
    return [key, name, share, boxes.filter((box) => box.hidden).length, isSaid];
  });
  const overflows = document.documentElement.scrollWidth > innerWidth;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({ stops, steps, overflows });
  document.body.append(result);
});
