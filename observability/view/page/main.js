"use strict";
// The controls around the picture, and the first drawing.

const control = (id) => document.getElementById(id);

function option(value, text) {
  const made = element("option", text);
  made.value = value;
  return made;
}

function setUp() {
  DATA.resources.forEach((resource, i) => control("resource").append(option(i, resource.label)));
  DATA.scenarios.forEach((name, i) => control("scenario").append(option(i, name)));
  control("weight").append(option(TIME, "time it ran"), ...DATA.resources.map((r) => option(r.key, r.label)));
  for (const id of ["from", "to"]) control(id).max = DATA.bins - 1;
  const about = control("about");
  about.append(`${DATA.requests.length} requests on ${DATA.node || "an unnamed node"} from ${new Date(DATA.began_ms).toISOString()}; `);
  about.append(element("span", DATA.loss, DATA.complete ? "" : "lost"));
  control("findings").append(...DATA.findings.map(finding), ...DATA.gpus.map((line) => element("li", line)));
  if (!control("findings").children.length) control("findings").append(element("li", "Nothing: no scenario uses far more of anything than the others."));
}

function finding(found) {
  const number = RESOURCE[found.resource];
  const resource = DATA.resources[number];
  const scenario = found.scenario || "unknown";
  const line = element("li");
  const button = element("button");
  button.append(
    element("strong", `${scenario}: ${resource.label} ${withUnit(found.each, resource)} a request`),
    `, the others ${withUnit(found.others, resource)}; most by ${found.function || "no traced function"}`,
  );
  button.addEventListener("click", () => {
    change({ resource: number, scenario: DATA.scenarios.indexOf(scenario), from: 0, to: DATA.bins - 1, sort: number, descending: true, page: 0, find: "" });
    picture.scrollIntoView({ block: "nearest" });
  });
  line.append(button);
  return line;
}

function showControls() {
  control("resource").value = state.resource ?? "";
  control("scenario").value = state.scenario ?? "";
  control("from").value = state.from;
  control("to").value = state.to;
  control("find").value = state.find;
  for (const button of document.querySelectorAll("[data-turn]")) {
    button.setAttribute("aria-pressed", button.dataset.turn === state.turn);
  }
}

function numberOrNull(text) {
  return text === "" ? null : Number(text);
}

control("resource").addEventListener("change", (event) => {
  const resource = numberOrNull(event.target.value);
  change({ resource, sort: resource ?? "ns", descending: true, page: 0 });
});
control("scenario").addEventListener("change", (event) => change({ scenario: numberOrNull(event.target.value), page: 0 }));
control("from").addEventListener("input", (event) => {
  const from = Number(event.target.value);
  change({ from, to: Math.max(state.to, from), page: 0 });
});
control("to").addEventListener("input", (event) => {
  const to = Number(event.target.value);
  change({ to, from: Math.min(state.from, to), page: 0 });
});
control("everything").addEventListener("click", everything);
for (const button of document.querySelectorAll("[data-turn]")) {
  button.addEventListener("click", () => turn(button.dataset.turn));
}

setUp();
watchers.push(showControls);
restore();
Object.assign(view, TURNS[state.turn] ?? TURNS.whole);
for (const draw of watchers) draw();
window.addEventListener("resize", () => watchers.forEach((draw) => draw()));
