"use strict";
// The filter language of the terminal browser: key:value, -key:value, a,b, "with spaces", * and ?, and plain words.
const FAILED = ["illegal_format", "unknown_tool", "invalid_arguments", "not_found"];
const KEYS = {
  outcome: (call) => [call.o],
  reason: (call) => [call.r || "none"],
  server: (call) => [call.s || "none"],
  tool: (call) => [call.n || "", (call.n || "").split("/").slice(1).join("/")],
  model: (call) => [call.trajectory.model, call.trajectory.file],
  task: (call) => [call.trajectory.type || "none"],
  trajectory: (call) => [call.trajectory.id],
  rule: (call) => [call.rule],
  evidence: (call) => [call.ev],
  certainty: (call) => [call.cert],
  drift: (call) => [call.drift || "none"],
  caused: (call) => [call.cause ? "yes" : "no"],
};
const CLOSED = { outcome: true, reason: true, evidence: true, certainty: true, drift: true, caused: true };

function parseFilter(text) {
  const terms = [];
  for (const [part, minus, key, value] of text.matchAll(/(-)?(?:([a-zA-Z_]+):)?((?:"[^"]*"?|[^\s"])+)/g)) {
    const name = (key || "").toLowerCase();
    if (key && !(name in KEYS)) throw new Error(`no filter key "${key}"; there are ${Object.keys(KEYS).join(", ")}`);
    const values = (value.match(/"[^"]*"?|[^,]+/g) || []).map((one) => one.replaceAll('"', "").toLowerCase());
    if (!key) terms.push({ not: Boolean(minus), words: value.replaceAll('"', " ").toLowerCase().split(/\W+/).filter(Boolean) });
    else if (values.length) terms.push({ not: Boolean(minus), key: name, values: values.flatMap((one) => expand(name, one)) });
  }
  return terms;
}

function expand(key, value) {
  if (key !== "outcome") return [value];
  return value === "failed" ? FAILED : [value.replaceAll("-", "_")];
}

function globbed(pattern) {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${escaped}$`, "s");
}

function makeTest(terms, calls) {
  const tests = terms.map((term) => {
    if (term.words) return (call) => term.words.every((word) => call.words.includes(word)) !== term.not;
    const read = KEYS[term.key];
    const chosen = term.values.map((value) => {
      const whole = globbed(value);
      const exact = (names) => names.some((name) => whole.test(name.toLowerCase()));
      if (calls.some((call) => exact(read(call)))) return exact;
      if (CLOSED[term.key]) return () => false;
      return (names) => names.some((name) => name.toLowerCase().includes(value));
    });
    return (call) => chosen.some((test) => test(read(call))) !== term.not;
  });
  return (call) => tests.every((test) => test(call));
}
