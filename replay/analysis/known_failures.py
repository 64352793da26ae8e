"""Failures by their fingerprints, and `replay-known.yaml`: which of them are known; it stands in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import ValidationError

from replay.diagnosis import TrajectoryContext, findings_of_call
from replay.diagnosis.failure_words import failure_words
from replay.diagnosis.run_findings import SECONDARY
from replay.errors import InputError
from replay.records import FAILURES, Outcome, digest
from replay.records.files import CallRow
from replay.records.finding import (
    FINGERPRINT_LENGTH,
    KNOWN_FORMAT,
    KNOWN_VERSION,
    CallRef,
    Finding,
    KnownFailure,
    KnownFile,
    RecurringFailure,
)
from replay.runfile import Run
from replay.runfile.trajectory_queries import Addresses, failing_trajectories
from replay.safety.filesystem import read_small_file, write_atomically

_TOLD_BY_PLACE: Final = frozenset(
    {"missing-field", "misnamed-field", "unexpected-field", "wrong-type", "not-a-choice", "out-of-bounds"}
)
"""Findings that their place in the arguments tells apart; the error's words beside them differ by server version."""
_MAX_END: Final = 160
"""Characters of an error's beginning and of its end: between them stands what a program printed."""
NAME: Final = "replay-known.yaml"
_MAX_BYTES: Final = 5_000_000
_HEAD: Final = f"""\
# Failures that are known: `replay known add` writes here, and so may you. docs/reports.md says more.
format: {KNOWN_FORMAT}
version: {KNOWN_VERSION}
"""


def fingerprint(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> str | None:
    """Twelve hexadecimal digits over tool, rule, finding, its place, and the error's words without volatile values.

    Args:
        context: of the call.
        row: its verdict.
        findings: of the call, as they were diagnosed.

    Returns:
        None where the call is not a failure.
    """
    if row.outcome not in FAILURES:
        return None
    tool = folded_name(row.tool or context.calls[row.call].name)
    if row.outcome is Outcome.UNKNOWN_TOOL:  # which rule says so depends on the fleet that was known
        return digest([tool, row.outcome])[:FINGERPRINT_LENGTH]
    return digest([tool, row.rule, *_cause(context, row, findings)])[:FINGERPRINT_LENGTH]


def folded_name(tool: str | None) -> str:
    """`server/tool` and `server-tool` are one name: how it is told apart depends on the fleet that was known."""
    return re.sub(r"[^a-z0-9]+", " ", (tool or "").lower())


def cause_in_any_tool(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> str:
    """Digest of why a call failed, the same whatever tool it was to."""
    return digest(_cause(context, row, findings))


def _cause(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> list[object]:
    """The finding, its place, and the error's words without volatile values."""
    finding = primary_finding(findings)
    kind = finding.kind if finding else ""
    place = re.sub(r"/\d+(?=/|$)", "/*", (finding.pointer or "") if finding else "")
    names = [str(finding.details[key]) for key in ("expected", "found") if key in finding.details] if finding else []
    by_place = kind in _TOLD_BY_PLACE
    return [
        kind,
        place,
        names if kind in {"missing-field", "misnamed-field"} else [],
        "" if by_place else _words(context, row, finding),
    ]


def primary_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """The most telling finding of a call; those that say something beside why it failed do not count."""
    return next((finding for finding in findings if finding.kind not in SECONDARY), None)


def _words(context: TrajectoryContext, row: CallRow, finding: Finding | None) -> str:
    """The words of the error; none where the call itself is the error: what it holds differs each time."""
    if row.outcome in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL):
        return ""
    program = finding is not None and finding.kind == "program-failed"  # all that it printed stands in the answer
    text = finding.sentence if finding is not None and program else context.answer_text(row.call)
    words = failure_words(text, context.calls[row.call], context.drawn)
    return words if len(words) <= 2 * _MAX_END else f"{words[:_MAX_END]} … {words[-_MAX_END:]}"


class FailedCall(NamedTuple):
    """A failed call, with the fingerprint of its failure."""

    fingerprint: str
    row: CallRow
    ref: CallRef
    address: str
    finding: Finding | None


def failed_calls(run: Run, files: Sequence[int] | None = None) -> Iterator[FailedCall]:
    """The failed calls of a run, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: only of these, by the run's numbers; by default of all.
    """
    servers, addresses = run.servers(), Addresses.of(run)
    for place in failing_trajectories(run, files):
        context = TrajectoryContext.load(run, place, servers)
        for position, row in context.rows.items():
            if row.outcome in FAILURES:
                findings = findings_of_call(context, position)
                mark = fingerprint(context, row, findings)
                assert mark is not None
                ref, address = context.ref(position), addresses.call(place.file, place.trajectory, position)
                yield FailedCall(mark, row, ref, address, primary_finding(findings))


@dataclass
class _Tally:
    counts: list[int]
    """By run."""
    last: FailedCall
    """The first of the last run."""
    models: dict[str, None] = field(default_factory=dict)

    def add(self, number: int, call: FailedCall) -> None:
        if not self.counts[number]:
            self.last = call
        self.counts[number] += 1
        self.models[call.ref.model] = None


def failures_of(
    run: Run, known: Mapping[str, KnownFailure] | None = None, files: Sequence[int] | None = None
) -> tuple[RecurringFailure, ...]:
    """The failures of one run, the most frequent first."""
    return recurring_failures([(str(run.path), failed_calls(run, files))], known or {})


def recurring_failures(
    runs: Sequence[tuple[str, Iterable[FailedCall]]], known: Mapping[str, KnownFailure]
) -> tuple[RecurringFailure, ...]:
    """The failures of several runs by their fingerprints: new ones, then those still there, then those that are gone.

    Args:
        runs: each run's name and failed calls, the oldest first.
        known: what is noted of failures.
    """
    tallies: dict[str, _Tally] = {}
    for number, (_, calls) in enumerate(runs):
        for call in calls:
            tallies.setdefault(call.fingerprint, _Tally([0] * len(runs), call)).add(number, call)
    found = [_recurring(mark, tally, [name for name, _ in runs], known) for mark, tally in tallies.items()]
    return tuple(sorted(found, key=_order))


def _order(failure: RecurringFailure) -> tuple[int, int, int, str]:
    """New, then still there, then gone; within each the most frequent first."""
    stage = 2 if not failure.counts[-1] else 1 if any(failure.counts[:-1]) else 0
    return stage, -failure.counts[-1], -failure.calls, failure.fingerprint


def _recurring(mark: str, tally: _Tally, names: Sequence[str], known: Mapping[str, KnownFailure]) -> RecurringFailure:
    runs = [name for name, count in zip(names, tally.counts, strict=True) if count]
    row, finding = tally.last.row, tally.last.finding
    return RecurringFailure(
        fingerprint=mark,
        tool=row.tool or "",
        outcome=row.outcome,
        rule=row.rule,
        finding=finding.kind if finding else None,
        sentence=finding.sentence if finding else row.message,
        counts=tuple(tally.counts),
        models=tuple(tally.models),
        first_seen=runs[0],
        last_seen=runs[-1],
        example=tally.last.ref,
        address=tally.last.address,
        known=known.get(mark),
    )


@dataclass(frozen=True)
class KnownFailures:
    """What a file says; without a file nothing is known."""

    path: Path | None = None
    failures: Mapping[str, KnownFailure] = field(default_factory=dict)

    def unseen(self, fingerprints: Iterable[str]) -> list[str]:
        """The fingerprints of the file that are not among these."""
        seen = set(fingerprints)
        return [mark for mark in self.failures if mark not in seen]


def find_known_file(run: Path, directory: Path | None = None) -> Path | None:
    """The file beside the run, else the one in the working directory or above it, up to the repository's root.

    Args:
        run: path of a run file.
        directory: where to look from; by default the working directory.
    """
    here = (directory or Path.cwd()).absolute()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    above = (folder for folder in (here, *here.parents) if folder.is_relative_to(root))
    return next((place / NAME for place in (run.absolute().parent, *above) if (place / NAME).is_file()), None)


def read_known_file(path: Path | None) -> KnownFailures:
    """Read a file.

    Args:
        path: of the file; None where there is none.

    Raises:
        InputError: it cannot be read, or is not what it should be; the place and what was expected are named.
    """
    if path is None:
        return KnownFailures()
    try:
        data = yaml.load(_text_of(path), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise InputError(str(path), "no such file; make one with: replay known add FINGERPRINT --note ...") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(str(path), f"cannot be read: {problem}") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise InputError(str(path), f"is not YAML: {getattr(problem, 'problem', None) or problem}", line) from None
    except (RecursionError, ValueError) as problem:
        raise InputError(str(path), f"holds what cannot be read: {problem}") from None
    return KnownFailures(path, _checked(path, data).failures)


def _text_of(path: Path) -> str:
    return read_small_file(path, _MAX_BYTES).decode("utf-8-sig")


def add_known(path: Path, mark: str, known: KnownFailure) -> None:
    """Write a failure into a file, which is made where there is none; comments in it stay where that can be done.

    Raises:
        InputError: the file is there and is broken.
    """
    before = read_known_file(path).failures if path.exists() else {}
    after = {**before, mark: known}
    if path.exists() and mark not in before:
        longer = f"{_text_of(path).rstrip()}\n{_entry(mark, known)}"
        if _says(longer, after):
            write_atomically(path, longer)
            return
    write_atomically(path, _text(after))


def remove_known(path: Path, mark: str) -> None:
    """Take a failure out of a file.

    Raises:
        InputError: the file is broken, or has no such failure.
    """
    before = read_known_file(path).failures
    if mark not in before:
        raise InputError(str(path), f"has no failure {mark}")
    write_atomically(path, _text({key: value for key, value in before.items() if key != mark}))


def _checked(path: Path, data: Any) -> KnownFile:
    if not isinstance(data, dict):
        raise InputError(str(path), f"is not a mapping; it begins with `format: {KNOWN_FORMAT}`")
    if data.get("format") != KNOWN_FORMAT:
        raise InputError(str(path), f"expected `format: {KNOWN_FORMAT}`", "format")
    if data.get("version") != KNOWN_VERSION or isinstance(data.get("version"), bool):
        raise InputError(str(path), f"only version {KNOWN_VERSION} is known to this replay", "version")
    try:
        return KnownFile.model_validate({**data, "failures": data.get("failures") or {}})
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise InputError(str(path), _message(first), place) from None


def _message(error: Any) -> str:
    if "[key]" in error["loc"]:
        return "is not a fingerprint: twelve of 0-9 and a-f, as `replay known` lists them"
    if error["type"] == "extra_forbidden":
        return f"is not a field; there are {', '.join(KnownFailure.model_fields)}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[0].lower() + message[1:]


class _Loader(yaml.SafeLoader):
    """Keys stay as they are written, since a fingerprint may be all digits; one that stands twice is an error."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = str(key.value)
        if name in found:
            raise yaml.constructor.ConstructorError(None, None, f"{name} stands twice", key.start_mark)
        found[name] = loader.construct_object(value, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _text(failures: Mapping[str, KnownFailure]) -> str:
    return _HEAD + (
        "failures:\n" + "".join(_entry(*item) for item in failures.items()) if failures else "failures: {}\n"
    )


def _entry(mark: str, known: KnownFailure) -> str:
    fields = known.model_dump(exclude_none=True)
    body = yaml.safe_dump({mark: fields}, sort_keys=False, allow_unicode=True, width=100, default_style=None)
    return "".join(f"  {line}\n" for line in body.splitlines())


def _says(text: str, failures: Mapping[str, KnownFailure]) -> bool:
    try:
        data = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
        return KnownFile.model_validate(data).failures == failures
    except (yaml.YAMLError, ValidationError):
        return False
