"use strict";
// One request's functions: wide is much, below is called. What a function used itself makes it bright.

const [FUNCTION, PARENT, THREAD, START, LENGTH, FIRST, USES] = [0, 1, 2, 3, 4, 5, 6];
const LINE = 22;
const TIME = "time";
const flame = document.getElementById("flame");
const weights = document.getElementById("weight");
const merged = document.getElementById("merged");
let boxes = []; // drawn functions with their place on the canvas
let zoomed = null; // the function that fills the width
let focused = null;

function drawRequest() {
  const request = DATA.requests.find((one) => one.id === state.request);
  document.getElementById("request").hidden = !request;
  if (!request) return;
  document.getElementById("request-title").textContent =
    `${request.id}: ${DATA.scenarios[request.scenario]}, ${duration(request.ns)}`;
  document.getElementById("line").textContent =
    Object.keys(request.line).length ? JSON.stringify(request.line, null, 1) : "It left no line in a ring.";
  drawFlame(request);
}

function drawFlame(request) {
  if (!request.spans?.length) {
    boxes = [];
    prepare(flame, 40);
    say(request.spans ? "No function of it was traced."
      : `Its functions are not on this page, which would be too large: python -m observability request ${request.id} RECORDING`);
    return;
  }
  const roots = merged.checked ? tree(request) : timeline(request);
  boxes = [];
  const whole = zoomed && find(roots, zoomed);
  layOut(whole ? [whole] : roots, flame.clientWidth);
  const { context } = prepare(flame, (deepest() + 1) * LINE);
  const most = boxes.reduce((most, box) => Math.max(most, box.node.self), 1);
  for (const box of boxes) drawFunction(context, box, most);
  const failed = request.failed.map(([call, code, n]) => ` ${call} failed ${n} times with code ${code}.`).join("");
  say(focused ? tell(focused, request) : `${boxes.length} functions.${failed}`);
}

function node(name, path) {
  return { name, path, total: 0, self: 0, calls: 0, ns: 0, uses: DATA.resources.map(() => 0), children: [], start: null };
}

function weigh(request, span, own) {
  if (weights.value === TIME) return own;
  return span[USES + RESOURCE[weights.value]];
}

function ownTimes(spans) {
  const own = spans.map((span) => span[LENGTH]);
  for (const span of spans) if (span[PARENT] >= 0) own[span[PARENT]] -= span[LENGTH];
  return own;
}

// Calls with the same path added up, the widest first.
function tree(request) {
  const own = ownTimes(request.spans);
  const places = [];
  const root = node("", "");
  const byPath = new Map();
  const held = new Map(weights.value === "held" ? request.holders : []);
  for (const [i, span] of request.spans.entries()) {
    const parent = span[PARENT] >= 0 ? places[span[PARENT]] : root;
    const path = `${parent.path};${span[FUNCTION]}`;
    let here = byPath.get(path);
    if (!here) {
      here = node(DATA.functions[span[FUNCTION]], path);
      byPath.set(path, here);
      parent.children.push(here);
    }
    places.push(here);
    here.calls += span[FIRST];
    here.ns += span[LENGTH];
    here.uses = here.uses.map((use, r) => use + span[USES + r]);
    here.self += weigh(request, span, own[i]) + (held.get(here.name) ?? 0);
    held.delete(here.name);
  }
  sum(root);
  return root.children;
}

function sum(here) {
  for (const child of here.children) sum(child);
  here.total = here.self + here.children.reduce((all, child) => all + child.total, 0);
  here.children.sort((a, b) => b.total - a.total);
}

// Each call where it was in time, a row of roots for each thread.
function timeline(request) {
  const own = ownTimes(request.spans);
  const nodes = request.spans.map((span, i) => {
    const here = node(DATA.functions[span[FUNCTION]], `${i}`);
    Object.assign(here, { calls: span[FIRST], ns: span[LENGTH], start: span[START], total: span[LENGTH], self: own[i], uses: span.slice(USES), thread: span[THREAD] });
    return here;
  });
  request.spans.forEach((span, i) => span[PARENT] >= 0 && nodes[span[PARENT]].children.push(nodes[i]));
  return nodes.filter((_, i) => request.spans[i][PARENT] < 0);
}

function deepest() {
  return boxes.reduce((most, box) => Math.max(most, box.row), 0);
}

function find(roots, path) {
  for (const here of roots) {
    const found = here.path === path ? here : find(here.children, path);
    if (found) return found;
  }
  return null;
}

function layOut(roots, width) {
  if (roots[0].start !== null) {
    const begin = roots.reduce((first, root) => Math.min(first, root.start), Infinity);
    const end = roots.reduce((last, root) => Math.max(last, root.start + root.ns), 0);
    const scale = width / Math.max(end - begin, 1);
    const put = (here, row) => {
      boxes.push({ node: here, x: (here.start - begin) * scale, w: Math.max(here.ns * scale, 1), row });
      for (const child of here.children) put(child, row + 1);
    };
    roots.forEach((root) => put(root, 0));
    return;
  }
  const all = roots.reduce((sum, root) => sum + root.total, 0);
  const put = (here, x, row) => {
    const w = all ? (here.total / all) * width : 0;
    if (w < 0.5) return;
    boxes.push({ node: here, x, w, row });
    let next = x;
    for (const child of here.children) {
      put(child, next, row + 1);
      next += (child.total / all) * width;
    }
  };
  let next = 0;
  for (const root of roots) {
    put(root, next, 0);
    next += all ? (root.total / all) * width : 0;
  }
}

function drawFunction(context, box, most) {
  const { node: here, x, w, row } = box;
  const share = here.self / most;
  context.fillStyle = colour(0.08 + 0.92 * share);
  context.fillRect(x, row * LINE, Math.max(w - 1, 1), LINE - 1);
  if (here === focused || here.path === focused?.path) {
    context.strokeStyle = "#ffffff";
    context.lineWidth = 2;
    context.strokeRect(x + 1, row * LINE + 1, Math.max(w - 3, 1), LINE - 3);
  }
  if (w < 40) return;
  context.save();
  context.beginPath();
  context.rect(x, row * LINE, w - 3, LINE);
  context.clip();
  context.fillStyle = share > 0.45 ? "#101318" : "#f2f4f8";
  context.textAlign = "left";
  const name = here.name;
  // The end of a name says more than its package.
  const short = context.measureText(name).width > w - 8 ? name.split(".").slice(-2).join(".") : name;
  context.fillText(short, x + 4, row * LINE + LINE / 2);
  context.restore();
}

function tell(here, request) {
  const uses = DATA.resources
    .map((resource, i) => (here.uses[i] ? `${resource.label} ${withUnit(here.uses[i], resource)}` : ""))
    .filter(Boolean);
  const held = request.holders.find(([name]) => name === here.name);
  if (held) uses.push(`still holds ${bytes(held[1])} of GPU memory`);
  const thread = here.thread ? `, thread ${here.thread}` : "";
  return `${here.name}: ${here.calls} calls, ${duration(here.ns)}${thread}${uses.length ? `; itself: ${uses.join(", ")}` : ""}`;
}

function say(text) {
  document.getElementById("frame").textContent = text;
}

function boxAt(x, y) {
  return boxes.findLast((box) => box.row === Math.floor(y / LINE) && x >= box.x && x <= box.x + box.w);
}

function focusOn(box) {
  focused = box?.node ?? null;
  drawRequest();
}

function zoom(path) {
  zoomed = path;
  drawRequest();
}

flame.addEventListener("pointermove", (event) => focusOn(boxAt(event.offsetX, event.offsetY)));
flame.addEventListener("click", (event) => zoom(boxAt(event.offsetX, event.offsetY)?.node.path ?? null));
flame.addEventListener("keydown", (event) => {
  const here = boxes.find((box) => box.node.path === focused?.path) ?? boxes[0];
  if (!here) return;
  const row = (n) => boxes.filter((box) => box.row === n).sort((a, b) => a.x - b.x);
  const beside = (step) => {
    const line = row(here.row);
    return line[line.indexOf(here) + step];
  };
  const over = (line) => line.find((box) => box.x + box.w > here.x + 0.1 && box.x < here.x + here.w);
  const keys = {
    ArrowLeft: () => focusOn(beside(-1) ?? here),
    ArrowRight: () => focusOn(beside(1) ?? here),
    ArrowUp: () => focusOn(over(row(here.row - 1)) ?? here),
    ArrowDown: () => focusOn(over(row(here.row + 1)) ?? here),
    Enter: () => zoom(here.node.path),
    Escape: () => zoom(null),
  };
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
merged.addEventListener("change", () => zoom(null));
weights.addEventListener("change", () => zoom(null));

let shown = null;
watchers.push(() => {
  const news = `${state.request} ${state.resource}`;
  if (news !== shown) {
    [shown, zoomed, focused] = [news, null, null];
    weights.value = state.resource === null ? TIME : DATA.resources[state.resource].key;
  }
  drawRequest();
});
