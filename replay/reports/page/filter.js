"use strict";
// The filter language of the terminal browser: key:value, -key:value, a,b, "with spaces", * and ?, and plain words.
// tests/filter_vectors.json says what both must match.
const FAILED = ["illegal_format", "unknown_tool", "invalid_arguments", "not_found"];
const KEYS = {
  outcome: (call) => [call.o],
  reason: (call) => [call.r || ""],
  fault: (call) => [call.fault || ""],
  server: (call) => [call.s || ""],
  tool: (call) => [call.n || "", toolOf(call)],
  model: (call) => [call.trajectory.model, call.trajectory.file],
  task: (call) => [call.trajectory.type || ""],
  trajectory: (call) => [call.trajectory.id],
  rule: (call) => [call.rule],
  evidence: (call) => [call.ev],
  certainty: (call) => [call.cert],
  drift: (call) => [call.drift || ""],
  caused: (call) => [call.cause ? "yes" : "no"],
  finding: (call) => [...(call.f || []), ...(call.trajectory.f || []).filter((one) => !one.at || one.at === call.p)].map((one) => one.kind),
  passed: (call) => [call.trajectory.passed || ""],
  recorded: (call) => [call.recorded || ""],
  when: (call) => [call.trajectory.started || ""],
};
const STANDINS = ["none", "failed"];
const HAS_NONE = ["reason", "fault", "server", "task", "drift", "passed", "recorded", "when"];

function toolOf(call) {
  return call.s ? (call.n || "").slice(call.s.length + 1) : call.n || "";
}

// Words as SQLite's full-text search parts them: `_` ends one, and an accent on a Latin letter makes no other letter.
function wordsOf(text) {
  const folded = text.toLowerCase().normalize("NFD").replace(/([a-z])[\u0300-\u036f]+/g, "$1").normalize("NFC");
  return folded.match(/[\p{L}\p{N}\u0300-\u036f]+/gu) || [];
}

// " a b c": a word begins behind a space.
function searchable(call) {
  return ` ${wordsOf([call.n, call.args, call.msg].join(" ")).join(" ")}`;
}

function parseFilter(text) {
  const terms = [];
  for (const [, minus, key, value] of text.matchAll(/(-)?(?:([a-zA-Z_]+):)?((?:"[^"]*"?|[^\s"])*)/g)) {
    const name = (key || "").toLowerCase();
    if (key && !Object.hasOwn(KEYS, name)) throw new Error(`no filter key "${key}"; there are ${Object.keys(KEYS).join(", ")}`);
    const values = (value.match(/"[^"]*"?|[^,]+/g) || []).map((one) => one.replace(/^"+|"+$/g, "").toLowerCase());
    const words = key ? [] : wordsOf(value);
    if (key && !values.length) throw new Error(`${name}: needs a value`);
    if (key) terms.push({ not: Boolean(minus), key: name, values });
    else if (words.length) terms.push({ not: Boolean(minus), words });
  }
  return terms;
}

function globbed(pattern) {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  const whole = new RegExp(`^${escaped}$`, "su");
  return (names) => names.some((name) => whole.test(name.toLowerCase()));
}

// A span of time: 7d, 2026-11, 2026-11-20..2026-11-22. Times are UTC, and sort as text.
function spanTest(value) {
  const ago = value.match(/^(\d{1,5})\s*([hdwmy])(?:\.\.)?$/);
  const hours = { h: 1, d: 24, w: 168, m: 720, y: 8760 };
  if (ago) {
    const since = new Date(Date.now() - ago[1] * hours[ago[2]] * 3600000).toISOString().slice(0, 19);
    return ([moment]) => moment >= since;
  }
  const date = String.raw`\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?)?)?`;
  const dates = value.toUpperCase().match(new RegExp(`^(?:(${date})|(${date})?\\.\\.(${date})?)$`));
  if (!dates || !(dates[1] || dates[2] || dates[3])) throw new Error(`"${value}" is not a time; write 7d, 12h, 2026-11-20 or 2026-11-01..2026-11-20`);
  const first = dates[1] || dates[2] || "";
  const last = dates[1] || dates[3] || "";
  return ([moment]) => moment !== "" && moment >= first && moment.slice(0, last.length) <= last;
}

// The names of one call that a value stands for: exactly so or as a pattern; where no name is, those that hold it.
function valueTest(key, value, calls) {
  if (value === "none" && HAS_NONE.includes(key)) return ([name]) => name === "";
  if (key === "when") return spanTest(value);
  const ofOutcomes = key === "outcome" || key === "recorded";
  if (ofOutcomes && value === "failed") return ([name]) => FAILED.includes(name);
  const wanted = ofOutcomes ? value.replaceAll("-", "_") : value;
  const written = globbed(wanted);
  const exact = HAS_NONE.includes(key) ? (names) => names[0] !== "" && written(names) : written;
  const choices = DATA.choices[key];
  if (choices) {
    if (!choices.some((name) => !STANDINS.includes(name) && written([name]))) throw new Error(`no ${key} "${value}"; there are ${choices.join(", ")}`);
    return exact;
  }
  if (calls.some((call) => exact(KEYS[key](call)))) return exact;
  const held = (names) => names.some((name) => name !== "" && name.toLowerCase().includes(wanted));
  if (key !== "trajectory" && !calls.some((call) => held(KEYS[key](call)))) throw new Error(`no ${key} "${value}"`);
  return held;
}

function makeTest(terms, calls) {
  const tests = terms.map((term) => {
    if (term.words) return (call) => term.words.every((word) => call.words.includes(` ${word}`)) !== term.not;
    const chosen = term.values.map((value) => valueTest(term.key, value, calls));
    return (call) => chosen.some((test) => test(KEYS[term.key](call))) !== term.not;
  });
  return (call) => tests.every((test) => test(call));
}
