"use strict";
// A trajectory drawn: a row a step, an arrow a pair of calls that a value flowed between.
const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 190, height: 38, gapX: 26, gapY: 24, left: 58, top: 12 };

function drawn(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function drawGraph(trajectory, callAt, here, onOpen) {
  const places = {};
  trajectory.steps.forEach((step, row) => step.forEach((position, column) => {
    places[position] = { x: BOX.left + column * (BOX.width + BOX.gapX), y: BOX.top + row * (BOX.height + BOX.gapY) };
  }));
  const widest = Math.max(1, ...trajectory.steps.map((step) => step.length));
  const width = BOX.left + widest * (BOX.width + BOX.gapX) + 90;
  const height = BOX.top * 2 + trajectory.steps.length * (BOX.height + BOX.gapY);
  const label = `${trajectory.steps.length} steps, ${trajectory.edges.length} data edges`;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const tip = drawn("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  tip.append(drawn("path", { d: "M0 0 L8 4 L0 8 z" }));
  svg.append(drawn("defs", {}, tip));
  trajectory.steps.forEach((step, row) => {
    svg.append(drawn("text", { x: 4, y: BOX.top + row * (BOX.height + BOX.gapY) + 23, class: "step" }, `step ${row + 1}`));
  });
  for (const [producer, consumer, words] of trajectory.edges) {
    const from = places[producer], to = places[consumer];
    if (from && to) svg.append(drawn("path", { d: arrow(from, to), class: "edge", "marker-end": "url(#tip)" }, drawn("title", {}, `${producer} → ${consumer} ${words}`)));
  }
  for (const [position, place] of Object.entries(places)) svg.append(boxOf(position, place, callAt(position), here, onOpen));
  const frame = document.createElement("div");
  frame.className = "dag";
  frame.tabIndex = 0;
  frame.append(svg);
  return frame;
}

function arrow(from, to) {
  const x1 = from.x + BOX.width / 2, y1 = from.y + BOX.height, x2 = to.x + BOX.width / 2, y2 = to.y;
  if (y2 - y1 <= BOX.gapY + 1) return `M${x1} ${y1} C${x1} ${y1 + 18} ${x2} ${y2 - 18} ${x2} ${y2 - 2}`;
  const side = Math.max(from.x, to.x) + BOX.width + 12 + Math.min(70, (y2 - y1) / 8);
  const right1 = from.x + BOX.width, right2 = to.x + BOX.width;
  const m1 = from.y + BOX.height / 2, m2 = to.y + BOX.height / 2;
  return `M${right1} ${m1} C${side} ${m1} ${side} ${m2} ${right2 + 2} ${m2}`;
}

function boxOf(position, place, call, here, onOpen) {
  const kind = !call ? "open" : FAILED.includes(call.o) ? "failed" : call.o === "inconclusive" ? "open" : "";
  const name = call ? (call.n || "?").split("/").pop() : "";
  const words = name.length > 26 ? `${name.slice(0, 25)}…` : name;
  const group = drawn("g", call ? { tabindex: 0, role: "button" } : {},
    drawn("title", {}, call ? `${position} ${call.n || "?"}: ${call.o}` : position),
    drawn("rect", { x: place.x, y: place.y, width: BOX.width, height: BOX.height, rx: 6, class: `box ${kind} ${position === here ? "here" : ""}` }),
    drawn("text", { x: place.x + 9, y: place.y + 16, class: "step" }, `${position}${call ? ` ${DATA.letters[call.o]}` : ""}`),
    drawn("text", { x: place.x + 9, y: place.y + 30 }, words));
  if (call) {
    group.addEventListener("click", () => onOpen(call));
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.stopPropagation(); onOpen(call); } });
  }
  return group;
}
