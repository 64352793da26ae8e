"use strict";
// Text of servers and models only ever becomes text nodes: nothing here parses HTML.
const DATA = JSON.parse(document.getElementById("data").textContent);
const CALLS = DATA.calls;
const PAGE = 100;
const byPlace = new Map();
for (const [index, call] of CALLS.entries()) {
  call.index = index;
  call.trajectory = DATA.trajectories[call.t];
  byPlace.set(`${call.t} ${call.p}`, call);
}
// Its words are made once a call, when it is first searched.
for (const call of CALLS) {
  Object.defineProperty(call, "words", { configurable: true, get() {
    const words = searchable(call);
    Object.defineProperty(call, "words", { value: words });
    return words;
  } });
}
const find = (id) => document.getElementById(id);
let shown = [], drawnRows = 0, current = -1;

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== undefined && child !== ""));
  return element;
}

function outcomeOf(call) {
  const words = DATA.outcomes[call.o] + (call.o === "inconclusive" && call.r ? `: ${call.r}` : "");
  return make("span", `badge o-${call.o}`, words);
}

function rowOf(call, number) {
  const why = call.f ? call.f[0].says : call.o === "success" ? "" : call.msg;
  const row = make("tr", "", make("td", "id", `${call.trajectory.name}:${call.p}`), make("td", "", make("code", "", call.n || "?")),
    make("td", "", outcomeOf(call)), make("td", "why", why.length > 260 ? `${why.slice(0, 259)}…` : why), make("td", "model", call.trajectory.model));
  row.tabIndex = number ? -1 : 0;
  row.dataset.number = number;
  return row;
}

function drawRows(upTo) {
  const rows = [];
  for (; drawnRows < Math.min(upTo, shown.length); drawnRows += 1) rows.push(rowOf(shown[drawnRows], drawnRows));
  find("rows").append(...rows);
  find("more").hidden = drawnRows >= shown.length;
  find("more").textContent = `Show more (${shown.length - drawnRows} left)`;
}

function applyFilter() {
  const text = find("filter").value;
  try {
    shown = CALLS.filter(makeTest(parseFilter(text), CALLS));
    find("filter-error").textContent = "";
  } catch (error) {
    find("filter-error").textContent = error.message;
    return;
  }
  find("rows").replaceChildren();
  drawnRows = 0;
  current = -1;
  drawRows(PAGE);
  find("count").textContent = `${shown.length} of ${CALLS.length} calls`;
  for (const chip of find("chips").children) chip.setAttribute("aria-pressed", String(text.trim() === chip.dataset.filter));
}

function setFilter(text) {
  find("filter").value = text;
  applyFilter();
}

function makeChips() {
  const counts = {};
  for (const call of CALLS) counts[call.o] = (counts[call.o] || 0) + 1;
  const failed = FAILED.reduce((sum, outcome) => sum + (counts[outcome] || 0), 0);
  const chips = [["failed", "outcome:failed", failed], ["all", "", CALLS.length]];
  for (const [outcome, words] of Object.entries(DATA.outcomes)) if (counts[outcome]) chips.push([words, `outcome:${outcome}`, counts[outcome]]);
  for (const [words, filter, count] of chips) {
    const chip = make("button", "", `${words} ${count}`);
    chip.type = "button";
    chip.dataset.filter = filter;
    chip.addEventListener("click", () => setFilter(filter));
    find("chips").append(chip);
  }
  return failed;
}

function move(to) {
  if (!shown.length) return;
  current = Math.max(0, Math.min(shown.length - 1, to));
  if (current >= drawnRows) drawRows(current + PAGE);
  const row = find("rows").children[current];
  for (const other of find("rows").querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

function findingsOf(list) {
  const items = list.map((one) => make("li", "", make("p", "", one.says), one.fix ? make("p", "fix", one.fix) : "",
    make("p", "kind", make("code", "", one.kind), one.sure === "certain" ? "" : ` ${one.sure}`)));
  return make("ul", "findings", ...items);
}

function factsOf(pairs) {
  const list = make("dl", "facts");
  for (const [name, value] of pairs) if (value) list.append(make("dt", "", name), make("dd", "", value));
  return list;
}

function answersOf(call) {
  if (!call.a && !call.b) return "";
  if (call.b === "=") return make("div", "", make("h3", "", "Recorded and replayed: the same answer"), make("pre", "", call.a));
  const words = (outcome) => (outcome ? ` (${DATA.outcomes[outcome]})` : "");
  return make("div", "pair", make("div", "", make("h3", "", `Recorded${words(call.recorded)}`), make("pre", "", call.a || "(not recorded)")),
    make("div", "", make("h3", "", `Replayed${words(call.replayed)}`), make("pre", "", call.b || "(not re-issued)")));
}

// The call, beside its counterpart in the reference where it has one.
function callBesideReference(call) {
  const own = make("pre", "", call.call || "");
  if (!call.ref) return [make("h3", "", "The call"), own];
  const [says, theirs] = call.ref;
  if (!theirs) return [make("h3", "", "The call"), own, make("h3", "", "In the reference"), make("p", "", says)];
  return [make("div", "pair", make("div", "", make("h3", "", "The call"), own),
    make("div", "", make("h3", "", "In the reference"), make("p", "sub", says), make("pre", "", theirs)))];
}

function openCall(call) {
  const number = shown.indexOf(call);
  if (number >= 0) current = number;
  const body = find("detail-body");
  find("detail-title").replaceChildren(make("code", "", call.n || "?"), " ", outcomeOf(call));
  body.replaceChildren(make("p", "lead", call.f ? call.f[0].says : call.msg));
  if (call.f) body.append(make("h3", "", "Findings"), findingsOf(call.f));
  body.append(...callBesideReference(call), make("h3", "", "The answers"), answersOf(call));
  if (call.log) body.append(make("h3", "", "What the server wrote to stderr during the call"), make("pre", "", call.log));
  if (call.v) {
    const rows = call.v.map((one) => make("tr", "", ...one.map((cell) => make("td", "", cell))));
    body.append(make("h3", "", "Schema violations"), make("table", "", make("tbody", "", ...rows)));
  }
  body.append(make("h3", "", "The verdict"), factsOf([["rule", call.rule], ["by", call.by], ["certainty", call.cert], ["fault", call.fault], ["verdict", call.msg],
    ["drift", call.drift], ["difference", call.diff], ["caused by", call.cause], ["state gap", call.gap],
    ["fingerprint", call.mark], ["known", call.known],
    ["id", `${call.trajectory.name}:${call.p}`], ["model", call.trajectory.model], ["file", call.trajectory.file]]));
  body.append(make("h3", "", "Its trajectory"), ...linksOf(call.trajectory, call.p), graphOf(call.trajectory, call.p));
  const dialog = find("detail");
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

// What started a trajectory, and what its calls started (all of them, or those of the call that is shown).
function linksOf(trajectory, here) {
  const near = (one, other) => one.file === other.file ? 0 : 1;
  const lines = [];
  if (trajectory.parent) {
    const [id, position] = trajectory.parent;
    const found = DATA.trajectories.filter((one) => one.id === id).sort((a, b) => near(a, trajectory) - near(b, trajectory))[0];
    lines.push(linkTo("A sub-agent, started by", found, id, position));
  }
  const started = DATA.trajectories.filter((one) => one.parent && one.parent[0] === trajectory.id && one !== trajectory);
  const beside = started.filter((one) => one.file === trajectory.file);
  for (const one of beside.length ? beside : started) {
    if (here && one.parent[1] && one.parent[1] !== here) continue;
    lines.push(linkTo(`${one.parent[1] || "A call"} started the sub-agent`, one, one.id, undefined));
  }
  return lines;
}

function linkTo(words, trajectory, id, position) {
  const shownId = make("code", "", position ? `${id}:${position}` : id);
  const first = trajectory && trajectory.steps.flat()[0];
  const call = trajectory && byPlace.get(`${DATA.trajectories.indexOf(trajectory)} ${position || first}`);
  if (!call) return make("p", "", `${words} `, shownId);
  const button = make("button", "link", shownId);
  button.type = "button";
  button.addEventListener("click", () => openCall(call));
  return make("p", "", `${words} `, button);
}

function graphOf(trajectory, here) {
  const number = DATA.trajectories.indexOf(trajectory);
  return drawGraph(trajectory, (position) => byPlace.get(`${number} ${position}`), here, openCall);
}

function step(by) {
  if (current + by < 0 || current + by >= shown.length) return;
  current += by;
  openCall(shown[current]);
}

// A part of the page is drawn when it is opened.
function folded(title, sub, draw) {
  const element = make("details", "", make("summary", "", title, make("span", "sub", sub)));
  element.addEventListener("toggle", () => { if (element.open && element.children.length === 1) element.append(draw()); });
  return element;
}

function listTrajectories() {
  const counts = DATA.trajectories.map(() => [0, 0]);
  for (const call of CALLS) { counts[call.t][0] += 1; if (FAILED.includes(call.o)) counts[call.t][1] += 1; }
  const order = DATA.trajectories.map((one, number) => number).sort((a, b) => counts[b][1] - counts[a][1] || a - b);
  let drawnCount = 0;
  const more = () => {
    const upTo = Math.min(order.length, drawnCount + 50);
    for (; drawnCount < upTo; drawnCount += 1) find("trajectory-list").append(trajectoryOf(order[drawnCount], counts[order[drawnCount]]));
    find("more-trajectories").hidden = drawnCount >= order.length;
    find("more-trajectories").textContent = `Show more (${order.length - drawnCount} left)`;
  };
  find("more-trajectories").addEventListener("click", more);
  more();
}

function trajectoryOf(number, [calls, failed]) {
  const one = DATA.trajectories[number];
  return folded(make("code", "", one.name), `${one.model} · ${calls} calls, ${failed} failed`, () => {
    const body = make("div", "");
    if (one.f.length) body.append(findingsOf(one.f));
    if (one.question) body.append(make("h3", "", "The question"), make("pre", "", one.question));
    body.append(make("h3", "", "Calls and data edges"), ...linksOf(one, ""), graphOf(one, ""));
    if (one.reply) body.append(make("h3", "", "The final reply"), make("pre", "", one.reply));
    return body;
  });
}

function pairOf(pair, task) {
  const call = task.t === null ? undefined : byPlace.get(`${task.t} ${pair.p}`);
  const reference = pair.ref ? [make("code", "", `${pair.ref[0]} ${pair.ref[1]}`), pair.ref[2] ? make("pre", "", pair.ref[2]) : ""] : ["nothing"];
  const predicted = pair.p ? [make("code", "", `${pair.p} ${pair.name}`), call ? make("pre", "", call.call || "") : ""] : ["nothing"];
  const row = make("tr", `pair-${pair.class.replaceAll(" ", "-")}`, make("td", "", ...reference), make("td", "", ...predicted), make("td", "", pair.why || ""), make("td", "", pair.class));
  return row;
}

function listPairs() {
  for (const model of DATA.alignments) for (const task of model.tasks.slice(0, 500)) {
    find("pairs").append(folded(make("code", "", task.id), `${model.model} · recall ${task.recall}, precision ${task.precision}`, () => {
      const head = make("tr", "", ...["reference", "predicted", "similarity, or why not", "class"].map((name) => make("th", "", name)));
      return make("div", "scroll", make("table", "pairs", make("thead", "", head), make("tbody", "", ...task.pairs.map((pair) => pairOf(pair, task)))));
    }));
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.id === "filter";
  if (find("detail").open) {
    if (event.key === "j" || event.key === "ArrowRight") step(1);
    if (event.key === "k" || event.key === "ArrowLeft") step(-1);
    return;
  }
  if (event.key === "/" && !typing) { event.preventDefault(); find("filter").focus(); return; }
  if (typing) { if (event.key === "Escape") find("filter").blur(); if (event.key === "ArrowDown") { event.preventDefault(); move(0); } return; }
  const onRow = event.target.closest && event.target.closest("#rows tr");
  const at = onRow ? Number(onRow.dataset.number) : current;
  if (event.key === "j" || (onRow && event.key === "ArrowDown")) { event.preventDefault(); move(at + 1); }
  if (event.key === "k" || (onRow && event.key === "ArrowUp")) { event.preventDefault(); move(at - 1); }
  if (onRow && event.key === "Enter") { event.preventDefault(); openCall(shown[at]); }
}

const failedCalls = makeChips();
find("filter-form").addEventListener("submit", (event) => { event.preventDefault(); applyFilter(); });
find("filter").addEventListener("input", applyFilter);
find("more").addEventListener("click", () => drawRows(drawnRows + PAGE));
find("rows").addEventListener("click", (event) => { const row = event.target.closest("tr"); if (row) openCall(shown[Number(row.dataset.number)]); });
for (const opener of document.querySelectorAll("[data-call]")) opener.addEventListener("click", () => openCall(CALLS[Number(opener.dataset.call)]));
find("close").addEventListener("click", () => find("detail").close());
find("previous").addEventListener("click", () => step(-1));
find("next").addEventListener("click", () => step(1));
find("detail").addEventListener("close", () => { if (current >= 0 && current < drawnRows) move(current); });
document.addEventListener("keydown", onKey);
window.addEventListener("beforeprint", () => drawRows(1000));
setFilter(failedCalls ? "outcome:failed" : "");
listTrajectories();
if (DATA.alignments.length) listPairs();
