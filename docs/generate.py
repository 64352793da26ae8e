"""Writes the pages of docs/ that come from the code: command line, findings, rules, the tables of the run file.

Run by `make docs`; a test fails when a page is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from replay.analysis.taxonomies import TAXONOMIES, TOBENCH, ErrorClass
from replay.cli import VERBS, cli
from replay.outcomes.call_format import FORMAT_RULES
from replay.outcomes.codes import CAUSES, code_rows, read_phrases
from replay.outcomes.registry import REGISTRY_RULES
from replay.outcomes.rules import Rule, answer_rules
from replay.outcomes.second_look import SECOND_LOOK_RULES
from replay.outcomes.stages import ARGUMENT_RULES
from replay.records import TransportFault
from replay.records.finding import Scope
from replay.runfile.schema import TABLES, VERSION

DOCS = Path(__file__).parent


FINDINGS = """\
# Findings

A verdict says how a call was judged; a finding says which part of it is wrong and, where anybody can know that, what
would have been right. Each finding has a stable kind, a sentence, the calls that it rests on, and how certain it is:
`certain` where it is read off the call and its answer, `likely` where it is inferred.

A finding is only made where it can be shown. *Invented* needs a question that is known and answers that were all kept;
a name is offered for another one only where it is nearly the same; of an address nobody guesses which part is wrong.
Where an error names no part of the call, the finding repeats the server's words and is marked as not `specific`.

`replay report` shows findings in every format but `svg`. In `--format json` they stand in `explanations` of each call,
in `findings` of each trajectory, and in `findings` of the document: `kind`, `scope`, `sentence`, `suggestion`, `calls`
(the one it is about first), `certainty`, `specific`, `pointer` (a JSON pointer in the arguments) and `details`.

The kinds that each call and trajectory shows are kept in the run file too: `finding:KIND` filters the calls in the
browser and on the page, and `replay compare` counts them by model. What published taxonomies call a failure is told
[by these kinds](compare.md#failure-taxonomies).
"""

TOBENCH_INTRODUCTION = """\
## TOBench

The classes of TOBench's taxonomy (arXiv 2605.16909, appendix D, Table 4), and the kinds that show them: `replay compare
--by tobench` counts the task runs of each.
"""

KINDS: dict[str, tuple[Scope, str]] = {
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
    "missing-program": ("call", "The program that a command starts is not there where the command runs."),
    "refused-by-policy": ("call", "The server does not allow it: a path, a command, a statement, a size."),
    "permission-denied": ("call", "The operating system denies access to what an argument names."),
    "exists-already": ("call", "What the call would make is there already."),
    "malformed-value": ("call", "A value that could not be parsed or computed."),
    "refused-value": ("call", "The server refuses the call, and its error speaks of one argument."),
    "program-failed": ("call", "A program that the call ran failed; the exception or the line that says why."),
    "placeholder-argument": ("call", "An argument is a placeholder, such as REPLACE_WITH_ACTUAL_ID."),
    "invented-value": (
        "call",
        "What was looked for stands in neither the question nor an earlier answer or call that succeeded.",
    ),
    "invented-identifier": (
        "call",
        "An opaque identifier that the question, the tool's schema, and earlier answers and successful calls lack.",
    ),
    "later-succeeded": ("call", "The call that later did the same; what it changed, where the error speaks of that."),
    "dependent-succeeded": (
        "call",
        "It failed, and a later call that took a value from it succeeded nevertheless.",
    ),
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
    "unexplained": ("call", "Inconclusive: an error, and nothing tells whose."),
    "no-answer": ("call", "Inconclusive: no answer is recorded or stored, and no server was asked."),
    "not-permitted": ("call", "Inconclusive: the user or the harness did not permit the call."),
    "cancelled": ("call", "Inconclusive: the call was cancelled, or skipped because of another one."),
    "withheld": ("call", "Inconclusive: the call was not re-issued, and no recorded answer decides."),
    "state-gap": ("call", "Inconclusive: a call before it did not happen again as recorded."),
    "interrupted": ("call", "Inconclusive: the replay was cut off after the call had been sent."),
    "beyond-limits": ("call", "Inconclusive: the call is nested deeper than replay reads."),
    "replay-fault": ("call", "Inconclusive: replay itself failed at this call; the others go on."),
    "partial": ("call", "The call succeeded in part: its answer reports errors beside what was done."),
    "empty-answer": ("call", "A call that only reads succeeded, and brought nothing."),
    "refused-though-valid": ("call", "The server refuses arguments that keep to its own inputSchema."),
    "schema-not-checked": ("call", "The tool's inputSchema, or a part of it, asks for more than is checked."),
    "flaky": ("call", "Re-issued unchanged, it was judged differently."),
    "outcome-moved": ("call", "Recorded and replayed outcome differ, and why."),
    "rebound": ("call", "A value was replaced by the one that its producer gave on replay."),
    "wrong-tool-of-server": (
        "call",
        "The reference calls another tool of the same server, which was never called (after `replay align`).",
    ),
    "root-cause": ("trajectory", "A failure, and the later ones that follow from it."),
    "repeated-failure": ("trajectory", "The same failing call, made again unchanged."),
    "repeated-call": ("trajectory", "The same read with the same answer, several times."),
    "repaired": ("trajectory", "A failure that a later call put right, and after how many calls."),
    "unsupported-reply": ("trajectory", "A final reply although every call failed."),
    "pseudo-verification": (
        "trajectory",
        "Of files and sheets that were written, only the existence or metadata was looked at afterwards.",
    ),
    "incomplete-verification": (
        "trajectory",
        "What was written was read back after an earlier write, and not after the last one.",
    ),
    "written-not-checked": (
        "trajectory",
        "Files, sheets and records that were written and not read back.",
    ),
    "reference-tool-unused": (
        "trajectory",
        "A tool that the reference calls for the task and the trajectory does not (after `replay align`).",
    ),
    "failing-tool": ("run", "The tools with the most failures, and the commonest cause."),
    "failing-server": ("run", "The server with the most failures that follow from no other, and the commonest cause."),
    "schema-too-strict": ("run", "A tool whose server takes what its schema forbids."),
    "schema-too-lax": ("run", "A tool whose server refuses what its schema allows."),
    "flaky-tool": ("run", "A tool whose calls were judged differently from trial to trial."),
    "drifting-server": ("run", "A server that answers otherwise than recorded."),
    "reference-fault": ("run", "Calls of the reference that no model can be scored against (`--reference`)."),
}
"""Kind -> what it is about, and what it says. Kinds are never renamed; new ones may come."""


def findings() -> str:
    """Every kind of finding."""
    parts = [FINDINGS]
    titles = {"call": "One call", "trajectory": "A trajectory", "run": "A run"}
    for scope, title in titles.items():
        rows = [f"| `{kind}` | {sentence} |" for kind, (about, sentence) in KINDS.items() if about == scope]
        parts += [f"## {title}\n", "| kind | what it says |\n| --- | --- |", *rows, ""]
    rows = [_error_class(error) for error in TAXONOMIES[TOBENCH]]
    parts += [
        TOBENCH_INTRODUCTION,
        "| category | class | kinds | left to a judge |\n| --- | --- | --- | --- |",
        *rows,
        "",
    ]
    return "\n".join(parts)


def _error_class(error: ErrorClass) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in error.kinds)
    return f"| {error.category} | {error.name} | {kinds} | {error.left_to_judges} |"


def command_line() -> str:
    """Every verb with every option, as `--help` prints it."""
    parts = ["# Command line\n\nGenerated from the verbs by `make docs`.\n", _section("replay", cli)]
    context = click.Context(cli, info_name="replay")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        if command is None:
            raise LookupError(verb)
        parts += [_section(name, each) for name, each in _with_subcommands(f"replay {verb}", command)]
    return "\n".join(parts)


RUN_FILE = """\
# The run file

`replay classify` keeps everything in one SQLite file in WAL mode, `replay-run.db` by default. `browse`, `report` and
`diff` read it, also while it grows, and so does any SQLite tool. Secrets are taken out before anything is written.
This is version {version} of its format; the table `meta` says which one a file has.
A file of an older version is read from a private copy that has today's tables; the verbs that write (`classify`,
`align`) bring the file itself up to date. Its SQLite application id (`PRAGMA application_id`) is 0x52504C59; the file
of another program is refused before it is opened.

`replay recover FILE` copies what can be read of a damaged run file into a new one, and says what was lost as far as
that can be known. Rows are looked for in the tables that are there: where the upper pages of a table are lost, so are
the rows under them. Where the first page is lost, that of a new run file takes its place. `classify` on what was saved
judges what is missing; where the journal of calls with effects was damaged, it may send some of them again.

The failures of a run, the most frequent first:

```sql
SELECT server, tool, outcome, count(*) FROM calls
WHERE outcome NOT IN ('success', 'inconclusive') GROUP BY 1, 2, 3 ORDER BY 4 DESC;
```

## Tables

```sql
{tables}
```
"""


def run_file() -> str:
    """The tables of the run file."""
    return RUN_FILE.format(version=VERSION, tables=TABLES.strip())


RULES_INTRODUCTION = """# The rules

Every verdict names the rule that gave it. There are four stages, in this order: the form of the call, the registry,
the arguments, the answer; the first that decides, decides. Rules that `servers.yaml` gives for a server are tried
before the answer rules.

A verdict is `certain` where a flag, a protocol error, a status or error code, a schema, a typed envelope or a value
that the call asked for gave it; `likely` where words alone did; and a `fallback` where nothing spoke. A success is
certain by what the answer brings: an exit status of zero, data, a value that the call asked for, an outputSchema kept.
Where a text in it begins or ends with a complaint, data and values are a fallback, and so is a text of some length
unless the tool hands out stored text. That a flag is false makes nothing certain: many servers flag no error. What may
be called certain was chosen by what was right on answers that nobody had read. How often each is right on labelled
answers (`benchmarks/outcomes.md` says how it is measured):

{certainties}

This page is generated from the rules themselves.
"""


def rules() -> str:
    """Each rule's id, what it says, and an example."""
    parts = [
        RULES_INTRODUCTION.format(certainties=certainties()),
        _stage("1. The form of the call", "`illegal_format`, evidence `format`.", FORMAT_RULES, "What the model wrote"),
        _stage("2. The registry", "`unknown_tool` or `inconclusive`, evidence `registry`.", REGISTRY_RULES, "Name"),
        _stage("3. The arguments", "A call that is not re-issued, evidence `schema`.", ARGUMENT_RULES, "Arguments"),
        "## 4. The answer\n\nIn this order; evidence `replay`, `stored` or `recorded`.\n",
        *map(_answer_rule, answer_rules()),
        _stage(
            "5. Where nothing spoke",
            "The tool's other answers in the trajectory, and the model's next words; certainty: likely.",
            SECOND_LOOK_RULES,
            "Answer, or what the model said",
        ),
        _codes(),
        _phrases(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def certainties() -> str:
    """The table of certainties that `benchmarks/outcomes.py` measured."""
    page = (DOCS.parent / "benchmarks" / "outcomes.md").read_text("utf-8")
    section = page.partition("## What a certainty means\n")[2]
    return next(part for part in section.split("\n\n") if part.lstrip().startswith("|")).strip()


def _stage(title: str, lead: str, table: Mapping[str, tuple[str, str]], example: str) -> str:
    rows = [f"- `{name}` {sentence} {example}: {_code(text)}" for name, (sentence, text) in table.items()]
    return f"## {title}\n\n{lead}\n\n" + "\n".join(rows) + "\n"


def _answer_rule(rule: Rule) -> str:
    outcome = f"`{rule.outcome}`" + (f" ({rule.reason})" if rule.reason else "")
    answer = rule.example.answer
    text = f"{answer.fault}: {answer.message}" if isinstance(answer, TransportFault) else answer
    return (
        f"### {rule.id}\n\n{rule.sentence} Outcome: {outcome}; certainty: {rule.certainty}.\n\n```text\n{text}\n```\n"
    )


def _codes() -> str:
    """The tables of codes, and whose fault each is."""
    causes = "\n".join(f"- `{cause}`: {fault}" for cause, fault in CAUSES.items())
    rows = "\n".join(f"| {name} | {cause} | {codes} | {source} |" for name, source, cause, codes in code_rows())
    head = "| system | cause | codes | source |\n| --- | --- | --- | --- |"
    return f"## Codes\n\nWhat a code says, and whose fault it is:\n\n{causes}\n\n{head}\n{rows}\n"


def _phrases() -> str:
    """The table of phrases: what each means, where it was met, and an example."""
    rows = "\n".join(
        f"| `{row.means}` | {', '.join(row.sources)} | {_cell(row.matches)} | {_cell(row.not_in)} |"
        for row in read_phrases()
    )
    lead = "Read from `phrases.yaml`, all at once and in linear time."
    head = "| means | sources | matches | does not match |\n| --- | --- | --- | --- |"
    return f"## Phrases\n\n{lead}\n\n{head}\n{rows}\n"


def _cell(text: str) -> str:
    return _code(text.replace("|", "\\|"))


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


PAGES = {"cli.md": command_line, "findings.md": findings, "rules.md": rules, "run-file.md": run_file}
"""File name -> what it says."""


def _with_subcommands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        yield from ((f"{name} {sub}", each) for sub, each in command.commands.items())


def _section(name: str, command: click.Command) -> str:
    command._help_option = None  # click keeps the first one that was asked for, whatever its names were
    settings: Any = cli.context_settings
    context = click.Context(command, info_name=name, terminal_width=100, **settings)
    text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    return f"## {name}\n\n```text\n{text}\n```\n"


def main() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
