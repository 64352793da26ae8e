"""One verdict out of what the stages of the classification found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from replay.dag.drift import AnswerComparison
from replay.json_values import without_lone_surrogates
from replay.outcomes.error_report import CRASHED
from replay.records import (
    FAILURES,
    Answer,
    Divergence,
    Judgement,
    Outcome,
    Reason,
    Rebinding,
    TextAnswer,
    ToolResult,
    TransportFault,
    Verdict,
    texts_of,
)
from replay.safety.text import one_line

HARMLESS = frozenset({"answer.exists-already"})
"""Rules of failures that cannot make a later call fail: what it would have made is there."""

ALIKE = frozenset({"same", "volatile"})
"""Drifts of an answer that says what the recorded one said."""

_MAX_FAULT_LENGTH = 200


@dataclass(frozen=True)
class VerdictInputs:
    """What is known of a call once it was sent, or was not."""

    recorded: Judgement | None = None
    """Of the recorded answer."""
    replayed: Judgement | None = None
    """Of the answer that came when it was replayed."""
    comparison: AnswerComparison | None = None
    gap: str | None = None
    """The state gap that the call stands behind."""
    missing_dependency: str | None = None
    """A program or module that the new answer says is not on this machine."""
    absent_path: str | None = None
    """An absolute path in the arguments that the new answer, an error, speaks of."""
    stderr: str | None = None
    """What the server wrote to stderr meanwhile."""
    rebound: tuple[Rebinding, ...] = ()
    seconds: float | None = None


def recorded_by_flag(inputs: VerdictInputs, before: Answer, answer: Answer) -> Judgement | None:
    """What the recorded answer says, once the same words have come again.

    Many recordings keep the text of an answer and not its error flag. A server that flags these words now flagged them
    then.
    """
    flagged = isinstance(answer, ToolResult) and answer.is_error
    if not (flagged and isinstance(before, TextAnswer) and inputs.comparison and inputs.comparison.drift in ALIKE):
        return inputs.recorded
    return inputs.replayed and inputs.replayed.model_copy(update={"evidence": "recorded"})


def verdict_unsent(judgement: Judgement, recorded: Judgement | None) -> Verdict:
    """The verdict of a call that was not sent: an earlier stage decided it, or it was kept back."""
    return _verdict(judgement, VerdictInputs(recorded=recorded))


def verdict_of_answer(inputs: VerdictInputs) -> Verdict:
    """The verdict of a call that was re-issued: its new answer decides, unless a state gap tainted the replay."""
    replayed, recorded = inputs.replayed, inputs.recorded
    if replayed is None:
        raise ValueError("a call that was re-issued has a judgement of its answer")
    if not _disagree(recorded, replayed):
        different = inputs.comparison is not None and inputs.comparison.drift == "different"
        return _verdict(replayed, inputs, gap=inputs.gap if different else None)
    if inputs.gap is not None and not _breaks_its_schema(replayed):
        return _tainted(inputs, inputs.gap, replayed)
    if recorded is not None and inputs.missing_dependency is not None:
        lacks = f"this machine lacks {inputs.missing_dependency}, which the one that was recorded on had."
        return _by_recording(inputs, recorded, lacks)
    if recorded is not None and recorded.outcome is Outcome.SUCCESS and inputs.absent_path is not None:
        lacks = f"{inputs.absent_path} was there when it was recorded, and is not in the workspace here."
        return _by_recording(inputs, recorded, lacks, absent_path=inputs.absent_path)
    return _verdict(replayed, inputs, divergence=_divergence(inputs))


def verdict_of_replay_fault(problem: Exception) -> Verdict:
    """The verdict of a call at which the replay itself failed: the others go on."""
    judgement = Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.REPLAY_FAULT,
        rule="replay.fault",
        evidence="replay",
        message=f"The replay of this call failed: {fault_in_words(problem)}.",
    )
    return _verdict(judgement, VerdictInputs())


def fault_in_words(problem: BaseException) -> str:
    """One line on an exception that nobody expected; of a group, on the first one in it."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return without_lone_surrogates(one_line(f"{type(problem).__name__}: {problem}", _MAX_FAULT_LENGTH)).rstrip(".")


def _disagree(recorded: Judgement | None, replayed: Judgement) -> bool:
    if recorded is None:
        return replayed.outcome in FAILURES
    return recorded.outcome != replayed.outcome


def _tainted(inputs: VerdictInputs, gap: str, replayed: Judgement) -> Verdict:
    recorded = inputs.recorded
    replay = (
        f"Replayed it is {replayed.outcome} ({replayed.message.rstrip('.')}), but {gap} before it did not happen again "
        "as recorded"
    )
    if recorded is None:
        judgement = replayed.model_copy(
            update={
                "outcome": Outcome.INCONCLUSIVE,
                "reason": Reason.STATE_GAP,
                "rule": "replay.state-gap",
                "certainty": "certain",
                "message": f"{replay} and may have made what this call needs.",
            }
        )
    else:
        judgement = recorded.model_copy(
            update={
                "reason": recorded.reason or Reason.STATE_GAP,
                "message": f"{recorded.message} [state-gap: judged by the recorded answer. {replay}.]",
            }
        )
    return _verdict(judgement, inputs, gap=gap, divergence="state-gap" if recorded else None)


def _breaks_its_schema(replayed: Judgement) -> bool:
    """Whether the call failed by what its own arguments break: no earlier call can have caused that."""
    return replayed.outcome is Outcome.INVALID_ARGUMENTS and bool(replayed.violations)


def _by_recording(inputs: VerdictInputs, recorded: Judgement, why: str, **fields: Any) -> Verdict:
    """The verdict by the recorded answer, since this machine lacks what the call needs."""
    message = f"{recorded.message} [judged by the recorded answer: {why}]"
    judgement = recorded.model_copy(update={"message": message})
    return _verdict(judgement, inputs, divergence="environment", **fields)


def _divergence(inputs: VerdictInputs) -> Divergence | None:
    """Why an untainted replay disagrees with the recording, as far as the answers tell."""
    recorded, replayed, comparison = inputs.recorded, inputs.replayed, inputs.comparison
    if recorded is None or replayed is None or recorded.outcome == replayed.outcome:
        return None
    if Outcome.INCONCLUSIVE in (recorded.outcome, replayed.outcome):
        return "environment"
    return "volatile" if comparison and comparison.drift == "volatile" else "server-version"


def _verdict(judgement: Judgement, inputs: VerdictInputs, **fields: Any) -> Verdict:
    recorded, replayed, comparison = inputs.recorded, inputs.replayed, inputs.comparison
    known: dict[str, Any] = {
        "recorded": recorded.outcome if recorded else None,
        "recorded_rule": recorded.rule if recorded else None,
        "replayed": replayed.outcome if replayed else None,
        "replayed_rule": replayed.rule if replayed else None,
        "drift": comparison.drift if comparison else None,
        "difference": comparison.difference if comparison else None,
        "rebound": inputs.rebound,
        "stderr": inputs.stderr,
        "seconds": inputs.seconds,
    }
    return Verdict(**{**vars(judgement), **known, **fields})


@dataclass
class Gaps:
    """The gaps of one trajectory so far.

    A call that was not re-issued may have changed what later calls see: those to its own server, those in the same
    workspace, and, where it went to a tool that is not in the fleet, any, since nobody knows what that tool touched.
    """

    sharing_workspace: frozenset[str] = frozenset()
    """Servers that work in the trajectory's workspace."""
    _gaps: list[tuple[str, str | None]] = field(default_factory=list)
    """Positions in the order of the steps, each with its server."""

    def add(self, position: str, server: str | None) -> None:
        """Note that the call at `position` left a gap; `server` is None where it is not in the fleet."""
        self._gaps.append((position, server))

    def before(self, server: str, ancestors: Iterable[str] = ()) -> str | None:
        """The gap that a call to `server` stands behind: one that it depends on by data, else the last."""
        together = self.sharing_workspace if server in self.sharing_workspace else {server}
        gaps = [position for position, of in self._gaps if of is None or of in together]
        named = set(ancestors)
        return next((position for position in reversed(gaps) if position in named), gaps[-1] if gaps else None)


_MISSING = (
    re.compile(r"(?:^|[\n:] ?)(?:\d+: )?(?P<name>[\w.+-]+): (?:command )?not found\s*$", re.MULTILINE),
    re.compile(r"(?:zsh: )?command not found: (?P<name>[\w.+-]+)"),
    re.compile(r"No module named '?(?P<name>[\w.]+)'?"),
    re.compile(r"Cannot find (?:module|package) '(?P<name>[^'\n]{1,80})'"),
    re.compile(r"'(?P<name>[\w.+-]+)' is not recognized as an internal or external command"),
    re.compile(r"error while loading shared libraries: (?P<name>[\w.+-]+)"),
    re.compile(r"[Ee]xecutable (?:file )?(?:`|'|\")?(?P<name>[\w.+-]+)(?:`|'|\")?:? (?:file )?not found"),
)
_MAX_SEARCHED_FOR_PROGRAM = 20_000
"""Characters that are looked at; such a message stands near the end or the beginning."""


def missing_program(answer: Answer) -> str | None:
    """The program, module or library that an answer says is missing; None where it says no such thing."""
    if isinstance(answer, TransportFault):
        return None
    text = "\n".join(texts_of(answer))
    if len(text) > 2 * _MAX_SEARCHED_FOR_PROGRAM:
        text = text[:_MAX_SEARCHED_FOR_PROGRAM] + "\n" + text[-_MAX_SEARCHED_FOR_PROGRAM:]
    found = (pattern.search(text) for pattern in _MISSING)
    return next((match["name"] for match in found if match), None)


_PATH: Final = re.compile(r"(?<![\w.~:/*-])/(?:[\w.@+~-]+/)+[\w.@+~-]+")
"""An absolute path of two names or more, alone or inside a command."""
_NO_PATH: Final = re.compile(r"\n|//")
_MAX_PATH_LENGTH: Final = 1000
_MAX_SEARCHED_FOR_PATH: Final = 20_000


def absent_path(arguments: dict[str, Any], answer: Answer) -> str | None:
    """The absolute path in the arguments that an error speaks of; None where it speaks of none.

    Args:
        arguments: as they were sent, with paths as they were recorded.
        answer: the error that came.
    """
    if isinstance(answer, TransportFault):
        return None
    text = "\n".join(texts_of(answer))[:_MAX_SEARCHED_FOR_PATH]
    paths = (path for value in _strings(arguments) for path in ([value] if _is_path(value) else _PATH.findall(value)))
    return next((path for path in paths if path in text or PurePosixPath(path).name in text), None)


def _is_path(value: str) -> bool:
    return (
        value.startswith("/") and value.count("/") > 1 and len(value) < _MAX_PATH_LENGTH and not _NO_PATH.search(value)
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_MAX_SEARCHED_FOR_PATH]
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _strings(member)


_TRACE: Final = re.compile(
    r"^Traceback \(most recent call last\):|^\s+at .{1,200}\(?\S+:\d+:\d+\)?\s*$|^panic: |^goroutine \d+ \[|"
    r"^thread '.{0,80}' panicked at |^Exception in thread \"",
    re.MULTILINE,
)
"""How the stack trace of Python, JavaScript, Go, Rust or Java begins, or one of its lines looks."""
_ERROR: Final = re.compile(r"^(?:[\w.]+(?:Error|Exception|Interrupt|Exit)\b|panic: ).*", re.MULTILINE)
_MAX_STDERR_LENGTH: Final = 16_384


def with_stderr(judgement: Judgement, stderr: str) -> Judgement:
    """The judgement of an answer in the light of what the server wrote meanwhile.

    An error that nothing in the answer explains, and a stack trace beside it: the server broke down, and the arguments
    are not to blame. An answer that does explain itself stands, since servers log traces of what they refuse too.
    """
    unexplained = judgement.reason is Reason.UNEXPLAINED or judgement.certainty == "fallback"
    if not unexplained or _TRACE.search(stderr) is None:
        return judgement
    error = _telling(stderr, judgement.message)
    return judgement.model_copy(
        update={
            "outcome": Outcome.INCONCLUSIVE,
            "reason": Reason.SERVER_FAULT,
            "rule": "replay.server-traceback",
            "certainty": "likely",
            "message": f"{CRASHED}: {error[:300]}" if error else CRASHED,
        }
    )


def _telling(stderr: str, known: str) -> str | None:
    """The last error that says more than is known: a server's framework wraps it in one that repeats the answer."""
    errors = [str(error).strip() for error in _ERROR.findall(stderr)]
    new = [error for error in errors if (words := error.partition(": ")[2]) == "" or words not in known]
    return next(reversed(new or errors), None)


def shortened(stderr: str) -> str | None:
    """The end of what was written; None where it was nothing."""
    return stderr[-_MAX_STDERR_LENGTH:] or None
