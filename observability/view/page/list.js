"use strict";
// The requests of the slice, a page at a time: there may be ten thousand.

const ROWS = 100;
const SHOWN = ["off_cpu", "copied", "held", "discarded"];
const rows = document.getElementById("rows");

// A column is "id", "scenario", "ns", or the number of a resource.
function columns() {
  const uses = SHOWN.map((key) => RESOURCE[key]).filter((resource) => resource !== state.resource);
  if (state.resource !== null) uses.unshift(state.resource);
  return ["id", "scenario", "ns", ...uses];
}

function title(column) {
  const names = { id: "request", scenario: "scenario", ns: "total" };
  return names[column] ?? DATA.resources[column].label;
}

function value(request, column) {
  if (column === "scenario") return DATA.scenarios[request.scenario];
  return typeof column === "number" ? request.uses[column] : request[column];
}

function text(request, column) {
  const what = value(request, column);
  if (typeof column === "number") return what ? amount(what, DATA.resources[column].unit) : "–";
  return column === "ns" ? duration(what) : what;
}

function sorted(requests) {
  const sign = state.descending ? -1 : 1;
  return requests.sort((a, b) => {
    const [x, y] = [value(a, state.sort), value(b, state.sort)];
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function drawList() {
  const found = sorted(chosenRequests());
  const pages = Math.max(Math.ceil(found.length / ROWS), 1);
  const page = Math.min(state.page, pages - 1);
  document.getElementById("count").textContent = `${found.length} of ${DATA.requests.length} requests`;
  document.getElementById("which").textContent = `page ${page + 1} of ${pages}`;
  document.getElementById("back").disabled = page === 0;
  document.getElementById("on").disabled = page === pages - 1;
  drawColumns();
  rows.replaceChildren(...found.slice(page * ROWS, (page + 1) * ROWS).map(row));
}

function drawColumns() {
  const heads = columns().map((column) => {
    const head = element("th");
    head.scope = "col";
    const button = element("button", title(column));
    button.addEventListener("click", () =>
      change({ sort: column, descending: state.sort === column ? !state.descending : true, page: 0 }));
    if (state.sort === column) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    head.append(button);
    return head;
  });
  document.getElementById("columns").replaceChildren(...heads);
}

function row(request) {
  const made = element("tr");
  made.tabIndex = 0;
  made.dataset.id = request.id;
  made.classList.toggle("chosen", request.id === state.request);
  made.append(...columns().map((column) => element("td", text(request, column))));
  return made;
}

function choose(id) {
  change({ request: id });
  rows.querySelector(".chosen")?.focus();
}

rows.addEventListener("click", (event) => {
  const id = event.target.closest("tr")?.dataset.id;
  if (id) choose(id);
});
rows.addEventListener("keydown", (event) => {
  const here = event.target.closest("tr");
  const to = { ArrowDown: here?.nextElementSibling, ArrowUp: here?.previousElementSibling };
  if (event.key in to) to[event.key]?.focus();
  else if (event.key === "Enter" || event.key === " ") choose(here.dataset.id);
  else return;
  event.preventDefault();
});
document.getElementById("back").addEventListener("click", () => change({ page: state.page - 1 }));
document.getElementById("on").addEventListener("click", () => change({ page: state.page + 1 }));
document.getElementById("find").addEventListener("input", (event) => change({ find: event.target.value, page: 0 }));

watchers.push(drawList);
