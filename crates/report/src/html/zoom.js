// Turns the points beside a figure into a plot that can be zoomed. Without it the page has all it says.
(function () {
  "use strict";
  // Multiples of each unit, the largest first; what is below all has the last.
  const UNITS = {
    "s": [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
    "1/s": [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]],
    "B": [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  };
  const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const written = (units) => (x, digits) => {
    if (x === 0) return "0";
    const [scale, unit] = units.find(([u]) => Math.abs(x) >= u * 0.9999999) || units[units.length - 1];
    return Number((x / scale).toPrecision(digits)) + "\u202f" + unit;
  };
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // n and seconds of one trial; see zoom.rs for the packing.
  function unpack(trial, low, high) {
    const steps = bytes(trial.steps), costs = bytes(trial.costs), span = Math.log(high / low);
    const x = [trial.first], y = [];
    let n = trial.first, carried = 0;
    for (const step of steps) {
      if (step === 0) { carried += 255; continue; }
      n += carried + step; carried = 0; x.push(n);
    }
    for (let i = 0; i + 1 < costs.length; i += 2)
      y.push(low * Math.exp((costs[i] | (costs[i + 1] << 8)) / 65535 * span));
    return [x.slice(0, y.length), y];
  }

  function show(place, data, logarithmic) {
    const from = logarithmic ? 1 : 0;
    const tables = data.trials.map((t) => unpack(t, data.low, data.high)).map(([x, y]) => {
      const first = x.findIndex((n) => n >= from);
      return first < 0 ? null : [x.slice(first), y.slice(first)];
    }).filter(Boolean);
    const medians = data.medians.filter(([n]) => n >= from);
    tables.push([medians.map((m) => m[0]), medians.map((m) => m[1])]);
    const units = UNITS[data.unit];
    const cost = units ? written(units) : (x, digits) => String(Number(x.toPrecision(digits)));
    const scale = logarithmic ? { distr: 3 } : { distr: 1 };
    const cloud = colour("--cloud"), soft = colour("--soft"), hair = colour("--hair");
    const axis = { stroke: soft, grid: { stroke: hair, width: 1 }, ticks: { stroke: hair, width: 1 }, font: "12px system-ui, sans-serif" };
    const at = place.querySelector(".at"), view = place.querySelector(".view");
    view.textContent = "";
    const points = { paths: () => null, points: { show: true, size: 3, width: 0, fill: cloud + "99", stroke: cloud + "99", space: 0 } };
    return new uPlot({
      width: view.clientWidth, height: Math.min(520, Math.max(320, view.clientWidth * 0.45)),
      legend: { show: false },
      cursor: {
        drag: { x: true, y: true, uni: 12 }, points: { show: false },
        dataIdx: () => null,
      },
      hooks: {
        setCursor: [(u) => {
          const { left, top } = u.cursor;
          at.textContent = left < 0 ? "" :
            "n = " + count(u.posToVal(left, "x")) + ", " + cost(u.posToVal(top, "y"), 3);
        }],
      },
      scales: {
        x: { time: false, ...scale, range: (u, low, high) => [low, high] },
        y: { ...scale, range: (u, low, high) => logarithmic ? [low * 0.95, high * 1.05] : [low, high] },
      },
      axes: [
        { ...axis, values: (u, ticks) => ticks.map((t) => t === null ? null : count(t)) },
        { ...axis, size: 68, values: (u, ticks) => ticks.map((t) => t === null ? null : cost(t, 3)) },
      ],
      series: [{}, ...tables.slice(0, -1).map(() => points),
        { stroke: colour("--line"), width: 2, spanGaps: true, points: { show: false } }],
    }, uPlot.join(tables), view);
  }

  for (const place of document.querySelectorAll(".zoom")) {
    const data = JSON.parse(place.querySelector("script").textContent);
    let logarithmic = true, plot = null;
    const button = (text) => { const b = document.createElement("button"); b.type = "button"; b.textContent = text; return b; };
    const open = button("Zoom into the points"), axes = button("Linear axes"), close = button("Close");
    const note = document.createElement("span");
    note.className = "note";
    note.textContent = place.dataset.note;
    const draw = () => {
      if (plot) plot.destroy();
      axes.textContent = logarithmic ? "Linear axes" : "Logarithmic axes";
      plot = show(place, data, logarithmic);
    };
    open.onclick = () => {
      const at = document.createElement("p"), view = document.createElement("div");
      at.className = "at"; view.className = "view";
      open.replaceWith(axes, close);
      note.textContent = place.dataset.note + "; drag to zoom, double-click to see all";
      place.append(at, view);
      draw();
    };
    axes.onclick = () => { logarithmic = !logarithmic; draw(); };
    close.onclick = () => {
      plot.destroy(); plot = null;
      place.querySelector(".at").remove(); place.querySelector(".view").remove();
      axes.remove(); close.replaceWith(open);
      note.textContent = place.dataset.note;
    };
    place.append(open, note);
    place.hidden = false;
  }
})();
