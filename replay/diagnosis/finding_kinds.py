"""Every kind of finding, in the order of the page that explains them (docs/findings.md)."""

from __future__ import annotations

from typing import Final

from replay.records.finding import Scope

KINDS: Final[dict[str, tuple[Scope, str]]] = {
    "wrapped-call": ("call", "The call stands between delimiters of a chat template or of Markdown."),
    "cut-off-call": ("call", "The JSON ends in the middle."),
    "broken-escape": ("call", "A string in the JSON has a backslash sequence that JSON lacks."),
    "text-after-call": ("call", "After the JSON stands more."),
    "no-json": ("call", "What the model wrote is not JSON."),
    "no-tool-name": ("call", "The call names no tool, or its name is not a string."),
    "no-arguments": ("call", "The field for the arguments is missing."),
    "arguments-not-an-object": ("call", "The arguments are JSON, but not an object."),
    "placeholder-tool": ("call", "The tool's name is a placeholder copied from a prompt."),
    "tool-without-server": ("call", "The name lacks its server, and exactly one server has the tool."),
    "tool-of-another-server": ("call", "The tool exists, on another server."),
    "nearly-a-tool": ("call", "There is no such tool, and one with nearly the same name."),
    "no-such-tool": ("call", "There is no such tool; what the server has instead."),
    "missing-field": ("call", "A required field is not there."),
    "misnamed-field": ("call", "A field has another name than the schema's, which is nearly the same."),
    "unexpected-field": ("call", "A field that the tool does not take."),
    "wrong-type": ("call", "A value of another type; with the same value in the right type where that is plain."),
    "not-a-choice": ("call", "A value that is none of its choices; with the nearest."),
    "out-of-bounds": ("call", "A value outside its bounds: too small, too long, of another pattern."),
    "schema-violation": ("call", "Any other violation of the schema, or of the server's own check."),
    "missing-thing": ("call", "What an argument names is not there; with a near name that an earlier answer held."),
    "missing-address": ("call", "The backend has nothing at an address; nobody can say which part of it is wrong."),
    "missing-program": ("call", "The program that a command starts is not there where the server runs."),
    "refused-by-policy": ("call", "The server does not allow it: a path, a command, a statement, a size."),
    "permission-denied": ("call", "The operating system denies access to what an argument names."),
    "exists-already": ("call", "What the call would make is there already."),
    "malformed-value": ("call", "A value that could not be parsed or computed."),
    "refused-value": ("call", "The server refuses the call, and its error speaks of one argument."),
    "program-failed": ("call", "A program that the call ran failed; the exception or the line that says why."),
    "placeholder-argument": ("call", "An argument is a placeholder, such as REPLACE_WITH_ACTUAL_ID."),
    "invented-value": ("call", "What was looked for stands in neither the question nor any earlier call or answer."),
    "later-succeeded": ("call", "The same call as it later succeeded in the same trajectory, and what was different."),
    "follows-from": ("call", "The failure follows from that of an earlier call."),
    "refused": ("call", "Generic: the server's words, which name no part of the call."),
    "not-found": ("call", "Generic: something was not found, and the answer does not say what."),
    "server-did-not-start": ("call", "Inconclusive: the server did not start."),
    "tool-of-the-harness": ("call", "Inconclusive: a tool of the harness, which no server has."),
    "server-not-in-fleet": ("call", "Inconclusive: the recording was made with a server that this fleet lacks."),
    "timed-out": ("call", "Inconclusive: no answer in time, or one that reports a timeout."),
    "rate-limited": ("call", "Inconclusive: the backend limits how often it may be asked."),
    "unauthorized": ("call", "Inconclusive: credentials are missing or wrong."),
    "network": ("call", "Inconclusive: a host could not be reached."),
    "server-fault": ("call", "Inconclusive: a fault of the server's own."),
    "withheld": ("call", "Inconclusive: the call was not re-issued, and no recorded answer decides."),
    "state-gap": ("call", "Inconclusive: a call before it did not happen again as recorded."),
    "interrupted": ("call", "Inconclusive: the replay was cut off after the call had been sent."),
    "empty-answer": ("call", "A call that only reads succeeded, and brought nothing."),
    "refused-though-valid": ("call", "The server refuses arguments that keep to its own inputSchema."),
    "flaky": ("call", "Re-issued unchanged, it came out differently."),
    "outcome-moved": ("call", "Recorded and replayed outcome differ, and why."),
    "rebound": ("call", "A value was replaced by the one that its producer gave on replay."),
    "root-cause": ("trajectory", "A failure, and the later ones that follow from it."),
    "repeated-failure": ("trajectory", "The same failing call, made again unchanged."),
    "repeated-call": ("trajectory", "The same read with the same answer, several times."),
    "repaired": ("trajectory", "A failure that a later call put right, and after how many calls."),
    "unsupported-reply": ("trajectory", "A final reply although every call failed."),
    "failing-tool": ("run", "The tools with the most failures, and the commonest cause."),
    "failing-server": ("run", "The server with the most failures that follow from no other, and the commonest cause."),
    "schema-too-strict": ("run", "A tool whose server takes what its schema forbids."),
    "schema-too-lax": ("run", "A tool whose server refuses what its schema allows."),
    "flaky-tool": ("run", "A tool whose calls came out differently from trial to trial."),
    "drifting-server": ("run", "A server that answers otherwise than recorded."),
    "reference-fault": ("run", "Calls of the reference that no model can be scored against (`--reference`)."),
}
"""Kind -> what it is about, and what it says. Kinds are never renamed; new ones may come."""


def findings_markdown() -> str:
    """docs/findings.md."""
    parts = [_INTRODUCTION]
    titles = {"call": "One call", "trajectory": "A trajectory", "run": "A run"}
    for scope, title in titles.items():
        rows = [f"| `{kind}` | {words} |" for kind, (about, words) in KINDS.items() if about == scope]
        parts += [f"## {title}\n", "| kind | what it says |\n| --- | --- |", *rows, ""]
    return "\n".join(parts)


_INTRODUCTION: Final = """\
# Findings

A verdict says how a call came out; a finding says which part of it is wrong and, where anybody can know that, what
would have been right. Each finding has a stable kind, a sentence, the calls that it rests on, and how certain it is:
`certain` where it is read off the call and its answer, `likely` where it is inferred.

A finding is only made where it can be shown. *Invented* needs a question that is known and answers that were all kept;
a name is offered for another one only where it is nearly the same; of an address nobody guesses which part is wrong.
Where an error names no part of the call, the finding repeats the server's words and is marked as not `specific`.

`replay report` shows findings in every format but `svg`. In `--format json` they stand in `explanations` of each call,
in `findings` of each trajectory, and in `findings` of the document: `kind`, `scope`, `sentence`, `suggestion`, `calls`
(the one it is about first), `certainty`, `specific`, `pointer` (a JSON pointer in the arguments) and `details`.
"""
