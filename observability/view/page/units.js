"use strict";
// Amounts for people, and the colours of the picture.

function amount(value, unit) {
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return bytes(value);
  return `${Math.round(value * 10) / 10}`;
}

function duration(ns) {
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e3).toFixed(ns < 1e4 && ns ? 1 : 0)} µs`;
}

function bytes(count) {
  for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (count >= size) return `${(count / size).toFixed(1)} ${unit}`;
  }
  return `${Math.round(count)} B`;
}

function withUnit(value, resource) {
  const text = amount(value, resource.unit);
  return resource.unit === "tokens" ? `${text} tokens` : text;
}

// Blue to yellow, ever lighter: it reads the same with every kind of colour blindness.
const RAMP = [[40, 62, 110], [75, 86, 112], [110, 112, 118], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

function colour(share, light = 1) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  const mix = RAMP[low].map((c, i) => Math.round((c + (RAMP[low + 1][i] - c) * (at - low)) * light));
  return `rgb(${mix.join(" ")})`;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A canvas as large as it is shown, sharp on every screen.
function prepare(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  if (height) canvas.style.height = `${height}px`;
  const { clientWidth, clientHeight } = canvas;
  if (canvas.width !== clientWidth * scale || canvas.height !== clientHeight * scale) {
    canvas.width = clientWidth * scale;
    canvas.height = clientHeight * scale;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, clientWidth, clientHeight);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  return { context, width: clientWidth, height: clientHeight };
}
