"use strict";
// The picture: a box of cells, x is time, y the resource, z the scenario. Looked at from the front,
// from above or from the side, the axis that is not seen is added up.

const TURNS = {
  whole: { yaw: 0.5, pitch: 0.45 },
  front: { yaw: 0, pitch: 0 },
  top: { yaw: 0, pitch: Math.PI / 2 },
  side: { yaw: -Math.PI / 2, pitch: 0 },
};
const WIDE = 1.7; // time has more steps than the other two
const STEP = 0.08;
const picture = document.getElementById("picture");
const view = { ...TURNS.whole };
let drawn = []; // what can be picked, the nearest last
let current = null;

function cellsNow() {
  const inside = DATA.cells.filter(isInSlice);
  if (state.turn === "front") return added(inside, (bin, resource) => [bin, resource, null]);
  if (state.turn === "side") return added(inside, (bin, resource, scenario) => [null, resource, scenario]);
  if (state.turn === "top") return brightest(withShares(inside.map(([bin, resource, scenario, use]) => ({ bin, resource, scenario, use }))));
  return withShares(inside.map(([bin, resource, scenario, use]) => ({ bin, resource, scenario, use })));
}

function added(cells, place) {
  const sums = new Map();
  for (const [bin, resource, scenario, use] of cells) {
    const [b, r, s] = place(bin, resource, scenario);
    const key = `${b} ${r} ${s}`;
    const cell = sums.get(key) ?? { bin: b, resource: r, scenario: s, use: 0 };
    // Held memory is there all the time: added over time it would count again and again.
    const lasts = b === null && DATA.resources[r].key === "held";
    cell.use = lasts ? Math.max(cell.use, use) : cell.use + use;
    sums.set(key, cell);
  }
  return withShares([...sums.values()]);
}

// Each resource has its own unit: a cell is bright beside the others of its resource.
function withShares(cells) {
  const most = DATA.resources.map(() => 1);
  for (const cell of cells) most[cell.resource] = Math.max(most[cell.resource], cell.use);
  for (const cell of cells) cell.share = cell.use / most[cell.resource];
  return cells;
}

function brightest(cells) {
  const best = new Map();
  for (const cell of cells) {
    const key = `${cell.bin} ${cell.scenario}`;
    if (!best.has(key) || best.get(key).share < cell.share) best.set(key, cell);
  }
  return [...best.values()];
}

function place(number, count) {
  return number === null || count < 2 ? 0 : ((number + 0.5) / count) * 2 - 1;
}

function project([x, y, z]) {
  const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
  const near = x * sy + z * cy;
  return [x * cy - z * sy, -(y * cp - near * sp), near * cp + y * sp];
}

function fit(width, height) {
  const corners = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => [-1, 1].map((z) => project([x * WIDE, y, z]))));
  const across = Math.max(...corners.map((c) => Math.abs(c[0])));
  const up = Math.max(...corners.map((c) => Math.abs(c[1])));
  const [left, right, above, below] = [150, flat() ? 36 : 130, 18, 36]; // room for the labels
  let [wide, high] = [(width - left - right) / 2 / across, (height - above - below) / 2 / up];
  // A box that is drawn higher than wide, or wider than high, still looks like one, to a point.
  if (!flat()) [wide, high] = [Math.min(wide, high * 1.5), Math.min(high, wide * 1.5)];
  const [cx, cy] = [(width + left - right) / 2, (height + above - below) / 2];
  return ([x, y, near]) => [cx + x * wide, cy + y * high, near];
}

function drawPicture() {
  const { context, width, height } = prepare(picture);
  const onScreen = fit(width, height);
  const at = (point) => onScreen(project(point));
  drawBox(context, at);
  if (state.turn === "whole") {
    context.globalAlpha = 0.1;
    const others = withShares(DATA.cells.filter((c) => !isInSlice(c)).map(([bin, resource, scenario, use]) => ({ bin, resource, scenario, use })));
    for (const cell of nearestLast(others)) drawCell(context, at, cell);
    context.globalAlpha = 1;
  }
  drawn = nearestLast(cellsNow());
  for (const cell of drawn) cell.outline = drawCell(context, at, cell);
  drawLabels(context, at);
  if (current) markCurrent(context);
}

function middle(cell) {
  return [
    place(cell.bin, DATA.bins) * WIDE,
    -place(cell.resource, DATA.resources.length),
    place(cell.scenario, DATA.scenarios.length),
  ];
}

function nearestLast(cells) {
  for (const cell of cells) cell.near = project(middle(cell))[2];
  return cells.sort((a, b) => a.near - b.near);
}

function drawCell(context, at, cell) {
  const [x, y, z] = middle(cell);
  const size = state.turn === "whole" || state.turn === "free" ? Math.max(0.15, Math.cbrt(cell.share)) * 0.92 : 0.94;
  const half = [WIDE / DATA.bins, 1 / DATA.resources.length, 1 / DATA.scenarios.length].map((h) => h * size);
  const corner = (a, b, c) => at([x + a * half[0], y + b * half[1], z + c * half[2]]);
  const sx = Math.sin(view.yaw) >= 0 ? 1 : -1;
  const sz = Math.cos(view.yaw) >= 0 ? 1 : -1;
  const faces = [
    [[sx, -1, -1], [sx, 1, -1], [sx, 1, 1], [sx, -1, 1], 0.7],
    [[-1, -1, sz], [1, -1, sz], [1, 1, sz], [-1, 1, sz], 0.85],
    [[-1, 1, -1], [1, 1, -1], [1, 1, 1], [-1, 1, 1], 1],
  ];
  const outline = [];
  for (const [a, b, c, d, light] of faces) {
    const points = [a, b, c, d].map((p) => corner(...p));
    context.fillStyle = colour(cell.share, flat() ? 1 : light);
    context.beginPath();
    points.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
    context.closePath();
    context.fill();
    outline.push(points);
  }
  return outline;
}

function flat() {
  return state.turn === "front" || state.turn === "top" || state.turn === "side";
}

function drawBox(context, at) {
  context.strokeStyle = "#3a4150";
  context.lineWidth = 1;
  const line = (a, b) => {
    const [p, q] = [at(a), at(b)];
    context.beginPath();
    context.moveTo(p[0], p[1]);
    context.lineTo(q[0], q[1]);
    context.stroke();
  };
  for (const u of [-1, 1]) {
    for (const v of [-1, 1]) {
      line([-WIDE, u, v], [WIDE, u, v]);
      line([u * WIDE, -1, v], [u * WIDE, 1, v]);
      line([u * WIDE, v, -1], [u * WIDE, v, 1]);
    }
  }
}

function drawLabels(context, at) {
  const [cos, sin, flatness] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch)];
  const left = cos >= 0 ? -1 : 1;
  const label = (text, [x, y], align, dx, dy, chosen) => {
    context.fillStyle = chosen ? "#fee838" : "#c5cad6";
    context.textAlign = align;
    context.fillText(text, x + dx, y + dy);
  };
  if (flatness > 0.2) {
    DATA.resources.forEach((resource, i) => {
      const y = -place(i, DATA.resources.length);
      label(resource.label, at([left * WIDE, y, sin >= 0 ? 1 : -1]), "right", -8, 0, state.resource === i);
    });
  }
  if (Math.abs(sin) > 0.1 || flatness < 0.98) {
    DATA.scenarios.forEach((name, i) => {
      const z = place(i, DATA.scenarios.length);
      const chosen = state.scenario === i;
      if (state.turn === "side") label(name, at([0, -1, z]), "center", 0, 14, chosen);
      else if (flatness < 0.2) label(name, at([-WIDE, 0, z]), "right", -8, 0, chosen);
      else label(name, at([sin >= 0 ? WIDE : -WIDE, -1, z]), sin >= 0 ? "left" : "right", sin >= 0 ? 8 : -8, 8, chosen);
    });
  }
  if (Math.abs(cos) > 0.2) {
    for (let tick = 0; tick <= 4; tick++) {
      const point = at([(tick / 2 - 1) * WIDE, -1, cos >= 0 ? 1 : -1]);
      label(`+${duration((DATA.bin_ns * DATA.bins * tick) / 4)}`, point, "center", 0, 16, false);
    }
  }
}

function markCurrent(context) {
  const cell = drawn.find((c) => c.bin === current.bin && c.resource === current.resource && c.scenario === current.scenario);
  if (!cell) return;
  context.strokeStyle = "#ffffff";
  context.lineWidth = 2;
  for (const face of cell.outline) {
    context.beginPath();
    face.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
    context.closePath();
    context.stroke();
  }
}

function describe(cell) {
  const resource = DATA.resources[cell.resource];
  const scenario = cell.scenario === null ? "all scenarios" : DATA.scenarios[cell.scenario];
  const when = cell.bin === null ? "over the whole time" : `at +${duration(cell.bin * DATA.bin_ns)}`;
  return `${resource.label}: ${withUnit(cell.use, resource)} by ${scenario} ${when}`;
}

function point(cell) {
  current = cell;
  document.getElementById("cell").textContent = cell ? describe(cell) : "";
  drawPicture();
}

function slice(cell) {
  const lasts = DATA.resources[cell.resource].key === "held";
  change({
    resource: cell.resource,
    scenario: cell.scenario ?? state.scenario,
    // What is held now was taken before.
    from: cell.bin === null || lasts ? state.from : cell.bin,
    to: cell.bin ?? state.to,
    sort: cell.resource, descending: true, page: 0,
  });
}

function pick(x, y) {
  const inside = (face) => {
    let within = false;
    for (let i = 0, j = face.length - 1; i < face.length; j = i++) {
      const [xi, yi] = face[i];
      const [xj, yj] = face[j];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
    }
    return within;
  };
  return drawn.findLast((cell) => cell.outline.some(inside)) ?? null;
}

function turn(name) {
  Object.assign(view, TURNS[name]);
  current = null;
  change({ turn: name });
}

function rotate(yaw, pitch) {
  view.yaw += yaw;
  view.pitch = Math.min(Math.max(view.pitch + pitch, 0), Math.PI / 2);
  if (state.turn === "whole") drawPicture();
  else change({ turn: "whole" });
}

let grip = null;
picture.addEventListener("pointerdown", (event) => {
  grip = { x: event.offsetX, y: event.offsetY, moved: false };
  picture.setPointerCapture(event.pointerId);
});
picture.addEventListener("pointermove", (event) => {
  if (!grip) {
    const cell = pick(event.offsetX, event.offsetY);
    if (cell) point(cell);
    return;
  }
  const [dx, dy] = [event.offsetX - grip.x, event.offsetY - grip.y];
  if (!grip.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(grip, { x: event.offsetX, y: event.offsetY, moved: true });
  rotate(-dx / 150, dy / 150);
});
picture.addEventListener("pointerup", (event) => {
  const cell = grip && !grip.moved ? pick(event.offsetX, event.offsetY) : null;
  grip = null;
  if (cell) {
    point(cell);
    slice(cell);
  }
});

function nextCell(step) {
  const order = [...drawn].sort((a, b) => b.share - a.share || a.resource - b.resource);
  if (!order.length) return;
  const now = order.findIndex((c) => current && c.bin === current.bin && c.resource === current.resource && c.scenario === current.scenario);
  point(order[(now + step + order.length) % order.length]);
}

picture.addEventListener("keydown", (event) => {
  const keys = {
    ArrowLeft: () => rotate(STEP, 0),
    ArrowRight: () => rotate(-STEP, 0),
    ArrowUp: () => rotate(0, -STEP),
    ArrowDown: () => rotate(0, STEP),
    n: () => nextCell(1),
    p: () => nextCell(-1),
    Enter: () => current && slice(current),
    1: () => turn("whole"), 2: () => turn("front"), 3: () => turn("top"), 4: () => turn("side"),
    Escape: everything,
  };
  if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  keys[event.key]();
});

watchers.push(drawPicture);
