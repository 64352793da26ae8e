"""A comparison as text for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from replay.diagnosis.phrasing import counted, quoted
from replay.records.comparison import Change, DefinitionChange, Parting, RunDiff
from replay.records.finding import History, RecurringFailure
from replay.reports.basis import certainty_line, fault_line
from replay.safety.text import one_line

_MAX_LISTED: Final = 25
_MAX_VALUE: Final = 80


def diff_text(comparison: RunDiff, *, models: bool = False) -> str:
    """What is different: worse first, then better, then what only one side has.

    Args:
        comparison: of two runs, or of two models.
        models: whether it is of models: they are called by their names, and nothing is new or gone.
    """
    first, second = comparison.first, comparison.second
    common, new = counted(comparison.common, "call"), counted(len(comparison.new), "call")
    names = (one_line(first.name, 60), one_line(second.name, 60)) if models else ("before", "after")
    with_second = f" with {names[1]}" if models else ""
    alone = f"{new} of {names[1]} alone, {len(comparison.gone)} of {names[0]} alone"
    paths = ("", "") if models else (f"{one_line(first.name, 100)}, ", f"{one_line(second.name, 100)}, ")
    heads = zip(names, paths, (first, second), strict=True)
    lines = [
        *(f"{name + ':':<7} {what}{counted(side.calls, 'call')}" for name, what, side in heads),
        f"{common} in common: {len(comparison.worse)} worse{with_second}, {len(comparison.better)} better",
        alone if models else f"{new} new, {len(comparison.gone)} gone",
        comparison.test_summary,
        *_basis(comparison, names),
        *_section(f"Worse{with_second}", comparison.worse),
        *_section(f"Failures of {names[1]} alone" if models else "New failures", comparison.new_failures),
        *_section(f"Better{with_second}", comparison.better),
        *_section("Judged on one side only", comparison.unjudged),
        *_tools(comparison, names if models else None),
        *_definitions(comparison.definitions),
        *_metrics(comparison),
        *(["\nWhere the two part", *parting_lines(comparison.parting)] if comparison.parting else []),
    ]
    return "\n".join(lines)


def _basis(comparison: RunDiff, names: tuple[str, str]) -> Iterator[str]:
    """Of each side how many verdicts rest on nothing, and whose fault its failures are."""
    for name, side in zip(names, (comparison.first, comparison.second), strict=True):
        for line in filter(None, (certainty_line(side.certainties), fault_line(side.faults))):
            yield f"{name + ':':<7} {line[0].lower()}{line[1:]}"


def parting_lines(parting: Parting) -> Iterator[str]:
    """In what the calls at which two trajectories part differ, and what each did from there on."""
    yield f"  {one_line(parting.why, 600)}"
    for side in parting.sides:
        yield f"  {one_line(side.trajectory, 90)}: {one_line(', '.join(side.did), 300) or 'made no further call'}"


def _section(title: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield f"\n{title} ({len(changes)})"
    for change in changes[:_MAX_LISTED]:
        moved = " -> ".join(outcome.label if outcome else "none" for outcome in (change.before, change.after))
        where = f"{change.model}:{change.trajectory}:{change.call}"
        yield f"  {one_line(where, 90)}  {one_line(change.tool or '?', 60)}  {moved}  {one_line(change.message, 100)}"
    if len(changes) > _MAX_LISTED:
        yield f"  ... and {len(changes) - _MAX_LISTED} more; --json has them all"


def _tools(comparison: RunDiff, models: tuple[str, str] | None) -> Iterator[str]:
    when = [f"of {name}" for name in models] if models else ["before", "after"]
    if comparison.tools:
        yield "\nFailures by tool"
    for tool in comparison.tools[:_MAX_LISTED]:
        yield (
            f"  {one_line(tool.tool, 60)}: {tool.before} of {tool.calls_before} {when[0]}, "
            f"{tool.after} of {tool.calls_after} {when[1]}"
        )


def _definitions(changes: Sequence[DefinitionChange], since: str = "") -> Iterator[str]:
    if changes:
        yield f"\nWhat the servers say of their tools otherwise{since} ({len(changes)})"
    for change in changes[:_MAX_LISTED]:
        name = one_line(f"{change.server}/{change.tool}", 60)
        moved = f"{quoted(change.before, _MAX_VALUE)} -> {quoted(change.after, _MAX_VALUE)}"
        at = one_line(change.pointer, 100)
        yield f"  {name}: {change.change if change.change != 'changed' else f'{at}: {moved}'}"
    if len(changes) > _MAX_LISTED:
        yield f"  ... and {len(changes) - _MAX_LISTED} more; --json has them all"


def _metrics(comparison: RunDiff) -> Iterator[str]:
    if comparison.metrics:
        yield "\nAlignment"
    for metric in comparison.metrics:
        name = metric.metric.replace("_", " ")
        moved = f"{metric.before:.3f} -> {metric.after:.3f} ({metric.after - metric.before:+.3f})"
        yield f"  {one_line(metric.model, 40)}  {name}: {moved}"


def failure_lines(failures: Sequence[RecurringFailure]) -> Iterator[str]:
    """Two lines a failure: its fingerprint, when it was seen, how often and where; then what is wrong."""
    for failure in failures[:_MAX_LISTED]:
        calls = " -> ".join(map(str, failure.counts)) if len(failure.counts) > 1 else counted(failure.counts[0], "call")
        yield (
            f"  {failure.fingerprint}  {_when(failure):<6} {calls}  "
            f"{one_line(failure.tool or '(no name)', 60)}  {failure.outcome.label}  "
            f"{counted(len(failure.models), 'model')}, as in {one_line(failure.address, 120)}"
        )
        yield f"      {one_line(failure.sentence, 140)}"
        if failure.known is not None:
            yield f"      known: {one_line(failure.known.words, 300)}"
    if len(failures) > _MAX_LISTED:
        yield f"  ... and {len(failures) - _MAX_LISTED} more; --json has them all"


def history_text(history: History) -> str:
    """Several runs: how each did, what changed from one to the next, and the failures."""
    width = max(len(one_line(run.name, 60)) for run in history.runs)
    lines = ["Runs, the oldest first"]
    for run in history.runs:
        share = f"{100 * run.failed / run.judged:.1f} %" if run.judged else "none judged"
        counts = f"{counted(run.calls, 'call')}, {run.failed} of {run.judged} judged failed ({share})"
        lines.append(f"  {one_line(run.name, 60):<{width}}  {counts}")
        lines += [f"    {line}" for line in filter(None, (certainty_line(run.certainties), fault_line(run.faults)))]
    lines.append("\nFrom each to the next")
    for change in history.changes:
        moved = f"{counted(change.common, 'call')} in common: {change.worse} worse, {change.better} better"
        lines.append(
            f"  {one_line(change.before, 60)} -> {one_line(change.after, 60)}: "
            f"{one_line(change.note, 200) if change.note else moved}"
        )
    for change in history.changes:
        since = f" from {one_line(change.before, 100)} to {one_line(change.after, 100)}"
        lines += _definitions(change.definitions, since)
    return "\n".join([*lines, *failures_section(history.failures)])


def failures_section(failures: Sequence[RecurringFailure]) -> Iterator[str]:
    """The failures under their heading, with how many are new, known and gone."""
    if not failures:
        yield "\nFailures: none"
        return
    counts = [("known", sum(failure.known is not None for failure in failures))]
    if len(failures[0].counts) > 1:
        counts.insert(0, ("new", sum(failure.is_new for failure in failures)))
        counts.append(("gone", sum(not failure.counts[-1] for failure in failures)))
    yield f"\nFailures by fingerprint ({len(failures)}: {', '.join(f'{count} {word}' for word, count in counts)})"
    yield from failure_lines(failures)


def _when(failure: RecurringFailure) -> str:
    if not failure.counts[-1]:
        return "gone"
    if failure.known is not None:
        return "known"
    if len(failure.counts) == 1:
        return "open"
    return "new" if failure.is_new else "still"
