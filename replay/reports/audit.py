"""An audit of scores, as `replay audit` writes it: text, JSON, Markdown, and a page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, get_args

from replay.diagnosis.phrasing import counted, listed
from replay.records.audit import (
    Audit,
    AuditedFault,
    AuditedModel,
    AuditedPair,
    AuditedRun,
    Bearing,
    Doubt,
    Number,
    UndecidedTask,
)
from replay.records.comparison import Figure
from replay.reports import render_document
from replay.reports.basis import unread_lines
from replay.reports.diff import parting_lines
from replay.reports.markdown_syntax import prose
from replay.reports.tables import Linked, Table
from replay.runfile.trajectory_queries import Addresses, TrajectoryPlace
from replay.safety.text import one_line

_METHOD: Final = """
The unit is a run of a task of which the files report whether it passed.
Every call in it is judged by its recorded answer, by fixed rules, each verdict with its evidence; no model is asked.
A call was failed by the environment where its answer says so: the server was not there, timed out, was rate limited, \
lacked credentials or a network, or broke by a fault of its own.
Not held against it is what the call brought on itself, such as a program that does not end or an address made up. \
What a program of the model's lacks where it runs is held against the sandbox, not a server.
Calls that one server failed by one cause, until the tool answered again, are one fault.
A fault is recovered where a later call asked for just the same and got it: by the same tool, SQL, or id. It is worked \
around where a later call dealt with the same thing in another way and was answered. Both decide nothing: the way to \
the thing was open, and what the model asked there was its own choice.
It is on the path to the loss where something that depends on it failed, where the tool was asked again in vain, where \
it had to do with the rest and no later call succeeded, or where the task names what it asked for and no other call \
got that. Else it is beside the path.
A lost task with a fault on its path is undecided, and so is one whose reference fails itself.
A task reported as passed is undecided where no call is known to have succeeded, or where nothing was written and no \
answer holds a figure of the reply.
The supported interval counts the undecided tasks as lost at its lower end, and as passed at its upper end. It is not \
a confidence interval, and says nothing of chance.
"""
METHOD: Final = tuple(_METHOD.strip().splitlines())
_LIMITS: Final = """
What a server did that no answer shows is not seen. A task may be lost for several reasons, of which this names the \
environment's. Whether a reply is right is not judged.
"""
_MAX_NAME: Final = 40
_MAX_LISTED: Final = 12
REPORTED: Final = {True: "passed", False: "lost", None: "not said"}
DOUBTS: Final[dict[Doubt, str]] = {
    "environment": "lost, the environment on the path",
    "unfounded": "passed on nothing that is shown",
    "reference": "lost, its reference fails itself",
}
NUMBERS: Final[dict[Number, str]] = {
    "runs": "runs",
    "passed": "passed",
    "lost": "lost by model",
    "undecided-lost": "undecided lost",
    "undecided-passed": "undecided passed",
    "faults": "faults of the environment",
    "on-path": "on path",
    "recovered": "recovered",
    "worked-around": "worked around",
    "beside": "beside",
}
"""The numbers of a model that lead to their tasks."""


def render(audit: Audit, form: str, width: int = 160) -> str:
    """An audit in one of the formats `text`, `json`, `markdown` and `html`, without secrets.

    Args:
        audit: what was found.
        form: the format.
        width: of the text: columns of the terminal.
    """
    return render_document(audit, form, {"text": partial(_text, width=width), "markdown": _markdown, "html": _html})


def _text(audit: Audit, width: int) -> str:
    parts = [
        [*_model_table(audit).text(width, _MAX_NAME), *_headline(audit)],
        [f"note: {note}" for note in audit.notes],
        *([title, *table.text(width, _MAX_NAME)] for title, table in _summaries(audit)),
        _tasks_text(audit),
        _partings_text(audit),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _headline(audit: Audit) -> Iterator[str]:
    """What a reader takes away: one sentence, and what was not read."""
    whole = audit.benchmark
    lost = whole.runs - whole.passed
    if not whole.runs:
        bearings = listed([f"{count} {bearing.replace('-', ' ')}" for bearing, count in whole.faults.items()])
        yield f"{counted(sum(whole.faults.values()), 'fault')} of the environment: {bearings}."
    elif lost:
        yield (
            f"Of {counted(lost, 'lost run')}, {whole.lost_by_model} were lost by the model as far as the recordings "
            f"show, and {whole.undecided_lost} are undecided; of {whole.passed} passed, {whole.undecided_passed} rest "
            "on nothing that is shown."
        )
    if sum(whole.faults.values()):
        yield (
            f"These calls open with: replay browse --filter '{whole.filter}'; those in lost tasks with passed:no "
            "beside it, those of a model with model:NAME."
        )
    yield from unread_lines(audit.unread)


def _models_of(audit: Audit) -> list[AuditedModel]:
    return [*audit.models, *([audit.benchmark] if len(audit.models) > 1 else [])]


def _model_table(audit: Audit) -> Table:
    head = ["reported", "supported", "runs", "lost by the model", "undecided: lost", "passed", "environment faults"]
    rows = [
        [
            model.model,
            _opens(model.passed, f"{number}-passed", _per_cent(model.reported)),
            _per_cent(*(model.supported or (None,))),
            _opens(model.runs, f"{number}-runs"),
            _opens(model.lost_by_model, f"{number}-lost") if model.runs else "-",
            _opens(model.undecided_lost, f"{number}-undecided-lost"),
            _opens(model.undecided_passed, f"{number}-undecided-passed"),
            _opens(
                faults := sum(model.faults.values()),
                f"{number}-faults",
                f"{faults} ({model.faults['on-path']} on the path)",
            ),
        ]
        for number, model in enumerate(_models_of(audit))
    ]
    return Table.of(["model", *head], rows)


def _summaries(audit: Audit) -> Iterator[tuple[str, Table]]:
    """What stands beside the models."""
    if audit.mends:
        mends = [
            [
                f"{mend.subject} {mend.name}",
                one_line(mend.reason, 80),
                _opens(mend.tasks, f"mend-{number}"),
                mend.settles,
                f"{mend.points:.1f}",
                mend.filter,
            ]
            for number, mend in enumerate(audit.mends)
        ]
        head = ["to mend", "because", "undecided tasks", "settles alone", "points", "opens with"]
        yield "What to mend in the benchmark, by what it settles", Table.of(head, mends)
    if audit.pairs:
        pairs = [
            [
                f"{pair.first} above {pair.second}",
                f"{100 * pair.difference:.1f}",
                _paired(pair),
                _yes(pair.beyond_chance),
                _yes(pair.supported),
            ]
            for pair in audit.pairs
        ]
        head = ["reported", "points", "over common tasks", "beyond chance", "still so for every undecided task"]
        yield "Which models are told apart", Table.of(head, pairs)
    if audit.trials:
        trials = [
            [
                row.model,
                row.tasks,
                row.runs,
                _chances(row.pass_at),
                _chances(row.pass_all),
                _opens(len(row.flipping), f"flips-{number}"),
            ]
            for number, row in enumerate(audit.trials)
        ]
        head = ["model", "tasks", "runs", "pass@1 and pass@k (95 %)", "pass^k (95 %)", "tasks that flip"]
        yield "Tasks that were run several times", Table.of(head, trials)


def _tasks_text(audit: Audit) -> list[str]:
    if not audit.undecided:
        return []
    lines = [f"Undecided tasks ({len(audit.undecided)}; --json and -o FILE.md have all)"]
    named = run_names(audit)
    for task in audit.undecided[:_MAX_LISTED]:
        lines.append(f"  {one_line(named(task), 100)}: {DOUBTS[task.doubt]}")
        lines += [f"    {one_line(line, 300)}" for line in _evidence(task)[:_MAX_LISTED]]
    return lines


def _partings_text(audit: Audit) -> list[str]:
    if not audit.partings:
        return []
    lines = [f"Where runs that were won and lost part ({len(audit.partings)}; --json and -o FILE.md have all)"]
    for parting in audit.partings[:_MAX_LISTED]:
        lines += [f"  {one_line(parting.task, 100)}", *(f"  {line}" for line in parting_lines(parting))]
    return lines


def _evidence(task: UndecidedTask) -> list[str]:
    """Of an undecided task: a line a fault on the path, else why."""
    return [_chain(fault) for fault in task.faults] or [task.why]


def _chain(fault: AuditedFault) -> str:
    """`s3c1 and s5c1 github/search: rate-limited; the model gave up. No later call succeeded.`"""
    tool = fault.tool or "(no name)"
    verified = f" Issued again: {fault.verified}." if fault.verified else ""
    calls = listed(fault.positions)
    return f"{calls} {tool}: {fault.cause}; the model {fault.then}. {fault.why}{verified}"


def _documents(audit: Audit) -> Iterator[tuple[str, Table]]:
    """Every table of a document, with its title."""
    yield "Scores, and what the evidence supports", _model_table(audit)
    yield from _summaries(audit)
    named = run_names(audit)
    rows = [
        [task.model, named(task).removeprefix(f"{task.model}:"), DOUBTS[task.doubt], line]
        for task in audit.undecided
        for line in _evidence(task)
    ]
    if rows:
        yield "Undecided tasks", Table.of(["model", "task", "why", "evidence"], rows, left=True)
    partings = [
        [parting.task, parting.why, *(f"{side.trajectory}: {', '.join(side.did)}" for side in parting.sides)]
        for parting in audit.partings
    ]
    if partings:
        head = ["task", "differs", "the run that was won", "the run that was lost"]
        yield "Where runs that were won and lost part", Table.of(head, partings, left=True)


def _opens(number: int, target: str, text: str | None = None) -> str:
    """A number that leads to what it counts, where it counts anything."""
    shown = str(number) if text is None else text
    return Linked(shown, target) if number else shown


def _behind(audit: Audit) -> Iterator[tuple[str, str, Table]]:
    """What the numbers lead to: the id of the part of the page, its title, and the tasks with their calls."""
    for number, model in enumerate(_models_of(audit)):
        name = None if model is audit.benchmark else model.model
        for kind, title in NUMBERS.items():
            if kind not in get_args(Bearing):  # the faults lead to all of them
                yield f"{number}-{kind}", f"{model.model}: {title}", _runs_table(audit, audit.behind(kind, name))
    for number, mend in enumerate(audit.mends):
        title = f"To mend: {mend.subject} {mend.name}, {mend.reason}"
        yield f"mend-{number}", title, _runs_table(audit, audit.behind_mend(mend))
    for number, row in enumerate(audit.trials):
        flipping = [run for run in audit.behind("runs", row.model) if run.task in row.flipping]
        yield f"flips-{number}", f"{row.model}: tasks that flip", _runs_table(audit, flipping)


def run_names(audit: Audit) -> Callable[[AuditedRun | UndecidedTask], str]:
    """How runs of tasks are called: `MODEL:TRAJECTORY`, and where a task was run several times by their addresses."""
    places = (TrajectoryPlace(row, run.file, run.model, run.trajectory) for row, run in enumerate(audit.runs))
    addresses = Addresses(places)
    counts = Counter((run.model, run.trajectory) for run in audit.runs)

    def named(run: AuditedRun | UndecidedTask) -> str:
        several = counts[run.model, run.trajectory] > 1
        return addresses.trajectory(run.file, run.trajectory) if several else f"{run.model}:{run.trajectory}"

    return named


def _runs_table(audit: Audit, runs: Sequence[AuditedRun]) -> Table:
    named = run_names(audit)
    rows = [
        [
            named(run),
            REPORTED[run.passed],
            DOUBTS[run.doubt] if run.doubt else "",
            "; ".join(f"{fault.bearing.replace('-', ' ')}: {_chain(fault)}" for fault in audit.faults_of(run)),
        ]
        for run in runs
    ]
    return Table.of(["task", "reported", "undecided", "what the environment failed"], rows, left=True)


def _limits(audit: Audit) -> list[str]:
    return [_LIMITS.strip(), *audit.notes]


def _markdown(audit: Audit) -> str:
    parts = ["# How much of each score is the model's", *map(prose, _headline(audit))]
    for title, table in _documents(audit):
        parts += [f"## {prose(title)}", table.markdown()]
    parts += ["## Method", "\n".join(f"{number}. {prose(line)}" for number, line in enumerate(METHOD, 1))]
    parts += ["## Limits", "\n".join(f"- {prose(line)}" for line in _limits(audit))]
    return "\n\n".join(parts) + "\n"


def _html(audit: Audit) -> str:
    from replay.charts.metrics import supported_of
    from replay.reports.page import tables_page

    return tables_page(
        "How much of each score is the model's",
        [("", supported_of(audit.models))],
        _documents(audit),
        lead=[*_headline(audit), " ".join(METHOD)],
        behind=[(anchor, title, table.html()) for anchor, title, table in _behind(audit) if table.rows],
        notes=_limits(audit),
    )


def _chances(figures: Mapping[int, Figure]) -> str:
    """`0.48; k = 4: 0.62 (0.52 to 0.71)`: for one run, and for as many as each task has."""
    most = max(figures)
    shown = [f"{figures[1].value:.2f}"] if most > 1 else []
    last = figures[most]
    interval = f" ({last.low:.2f} to {last.high:.2f})" if last.low is not None and last.high is not None else ""
    return "; ".join([*shown, f"k = {most}: {last.value:.2f}{interval}"])


def _per_cent(*ends: float | None) -> str:
    """`41.2 %`, or `38.0 to 44.1 %`; `-` where it is not known."""
    return "-" if None in ends else f"{' to '.join(f'{100 * end:.1f}' for end in ends if end is not None)} %"


def _paired(pair: AuditedPair) -> str:
    if pair.paired_difference is None:
        return "-"
    return f"{100 * pair.paired_difference:.1f} over {counted(pair.common_tasks, 'task')}"


def _yes(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "no"
