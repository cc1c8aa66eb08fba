// Turns the points beside a figure into a plot that can be zoomed. Without it the page has all it says.
(function () {
  "use strict";
  // Multiples of each unit, the largest first; what is below all has the last.
  const UNITS = {
    "s": [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
    "1/s": [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]],
    "B": [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  };
  // How near the pointer has to be to a point, in pixels.
  const NEAR = 12;
  const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const written = (units) => (x, digits) => {
    if (x === 0) return "0";
    const [scale, unit] = units.find(([u]) => Math.abs(x) >= u * 0.9999999) || units[units.length - 1];
    return Number((x / scale).toPrecision(digits)) + "\u202f" + unit;
  };
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // n and cost of one trial; see zoom.rs for the packing.
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
    return { trial: trial.trial, x: x.slice(0, y.length), y };
  }

  // Round values between two, at most so many: powers of ten where there are many, down to any fraction of one.
  function ticks(low, high, most, logarithmic) {
    if (logarithmic && high / low >= 8) {
      const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
      const every = Math.max(1, Math.ceil((to - from) / most));
      const within = to - from <= most / 3 ? [1, 2, 5] : [1];
      const all = [];
      for (let e = from; e <= to; e += every) for (const m of within) all.push(m * 10 ** e);
      return all.filter((t) => t >= low * 0.9999 && t <= high * 1.0001);
    }
    const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.9999);
    const all = [];
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && all.length < 50; i++) all.push(i * step);
    return all;
  }
  // Digits by which neighbouring marks differ.
  const digits = (all) => {
    let most = 1;
    for (let i = 1; i < all.length; i++)
      most = Math.max(most, 1 + Math.ceil(Math.log10(Math.abs(all[i]) / (all[i] - all[i - 1])) - 1e-9));
    return Math.min(12, most);
  };
  // The place of the first value that is not smaller.
  const first = (sorted, value) => {
    let low = 0, high = sorted.length;
    while (low < high) { const middle = (low + high) >> 1; if (sorted[middle] < value) low = middle + 1; else high = middle; }
    return low;
  };
  // The point under the pointer, with its trial; none where none is near.
  function nearest(u, trials, left, top) {
    const [from, to] = [left - NEAR, left + NEAR].map((at) => u.posToVal(at, "x"));
    let best = null, distance = NEAR * NEAR;
    for (const { trial, x, y } of trials)
      for (let i = first(x, from); i < x.length && x[i] <= to; i++) {
        const d = (u.valToPos(x[i], "x") - left) ** 2 + (u.valToPos(y[i], "y") - top) ** 2;
        if (d < distance) { distance = d; best = { trial, n: x[i], cost: y[i] }; }
      }
    return best;
  }
  // An axis drawn closer to what is under the pointer, or further from it, as far as all that there is.
  function closer(u, name, at, share, whole, logarithmic) {
    const { min, max } = u.scales[name], [to, from] = logarithmic ? [Math.log, Math.exp] : [(v) => v, (v) => v];
    const middle = to(u.posToVal(at, name)), end = (v) => from(middle + (to(v) - middle) * share);
    const low = Math.max(end(min), whole[0]), high = Math.min(end(max), whole[1]);
    const least = name === "x" ? 2 : 1e-4 * Math.abs(low);
    if (high - low > least) u.setScale(name, { min: low, max: high });
  }

  function show(place, data, logarithmic) {
    const from = logarithmic ? 1 : 0;
    const trials = data.trials.map((t) => unpack(t, data.low, data.high)).map(({ trial, x, y }) => {
      const start = first(x, from);
      return { trial, x: x.slice(start), y: y.slice(start) };
    }).filter(({ x }) => x.length > 0);
    const medians = data.medians.filter(([n]) => n >= from);
    const tables = [...trials.map(({ x, y }) => [x, y]), [medians.map((m) => m[0]), medians.map((m) => m[1])]];
    const units = UNITS[data.unit];
    const cost = units ? written(units) : (x, digits) => String(Number(x.toPrecision(digits)));
    const scale = logarithmic ? { distr: 3 } : { distr: 1 };
    const cloud = colour("--cloud"), soft = colour("--soft"), hair = colour("--hair");
    const marks = (room) => ({
      stroke: soft, grid: { stroke: hair, width: 1 }, ticks: { stroke: hair, width: 1 }, font: "12px system-ui, sans-serif",
      splits: (u, i, low, high) => ticks(low, high, (i === 0 ? u.bbox.width : u.bbox.height) / devicePixelRatio / room, logarithmic),
      filter: (u, splits) => splits,
    });
    const at = place.querySelector(".at"), view = place.querySelector(".view");
    view.textContent = "";
    const points = { paths: () => null, points: { show: true, size: 3, width: 0, fill: cloud + "99", stroke: cloud + "99", space: 0 } };
    const whole = {};
    return new uPlot({
      width: view.clientWidth, height: Math.min(520, Math.max(320, view.clientWidth * 0.45)),
      legend: { show: false },
      cursor: {
        drag: { x: true, y: true, uni: 12 }, points: { show: false },
        dataIdx: () => null,
      },
      hooks: {
        ready: [(u) => {
          for (const name of ["x", "y"]) whole[name] = [u.scales[name].min, u.scales[name].max];
          u.over.addEventListener("wheel", (event) => {
            event.preventDefault();
            const { left, top } = u.cursor, share = event.deltaY < 0 ? 0.8 : 1.25;
            u.batch(() => {
              closer(u, "x", left, share, whole.x, logarithmic);
              closer(u, "y", top, share, whole.y, logarithmic);
            });
          }, { passive: false });
        }],
        setCursor: [(u) => {
          const { left, top } = u.cursor;
          if (left < 0) { at.textContent = ""; return; }
          const point = nearest(u, trials, left, top);
          at.textContent = point
            ? "n = " + count(point.n) + ", " + cost(point.cost, 4) + ", trial " + point.trial
            : "n = " + count(u.posToVal(left, "x")) + ", " + cost(u.posToVal(top, "y"), 3);
        }],
      },
      scales: {
        x: { time: false, ...scale, range: (u, low, high) => [low, high] },
        y: { ...scale, range: (u, low, high) => [low, high] },
      },
      axes: [
        { ...marks(90), values: (u, all) => all.map(count) },
        { ...marks(36), size: 76, values: (u, all) => all.map((t) => cost(t, digits(all))) },
      ],
      series: [{}, ...trials.map(() => points),
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
      note.textContent = place.dataset.note + "; turn the wheel or drag to zoom, double-click to see all";
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
