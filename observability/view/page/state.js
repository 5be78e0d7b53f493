"use strict";
// What is looked at. Every change is drawn, and kept in the address, so that a link shows the same.

const DATA = JSON.parse(document.getElementById("data").textContent);
const RESOURCE = Object.fromEntries(DATA.resources.map((resource, i) => [resource.key, i]));

const state = {
  resource: null, scenario: null, from: 0, to: DATA.bins - 1, turn: "whole",
  find: "", sort: "ns", descending: true, page: 0, request: null,
};
const watchers = [];

function change(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(state))}`);
  for (const draw of watchers) draw();
}

function everything() {
  change({ resource: null, scenario: null, from: 0, to: DATA.bins - 1, find: "", sort: "ns", descending: true, page: 0 });
}

function restore() {
  try {
    const kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    for (const key of Object.keys(state)) if (key in kept) state[key] = kept[key];
  } catch {
    // No address, or one of another page's: everything is shown.
  }
}

function isInSlice([bin, resource, scenario]) {
  return (
    bin >= state.from && bin <= state.to &&
    (state.resource === null || state.resource === resource) &&
    (state.scenario === null || state.scenario === scenario)
  );
}

function chosenRequests() {
  const begin = state.from * DATA.bin_ns;
  const end = (state.to + 1) * DATA.bin_ns;
  const wanted = state.find.toLowerCase();
  return DATA.requests.filter(
    (request) =>
      (state.scenario === null || request.scenario === state.scenario) &&
      request.at < end && request.at + request.ns >= begin &&
      (!wanted || request.id.toLowerCase().includes(wanted) ||
        JSON.stringify(request.line).toLowerCase().includes(wanted)) &&
      (state.resource === null || request.uses[state.resource] > 0),
  );
}
