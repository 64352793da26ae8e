"""What the numbers of a table rest on, in sentences that stand beside it: what was not read or not decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.diagnosis.phrasing import counted
from replay.records import UNFOUNDED, Certainty, Fault
from replay.records.summary import RepeatedCalls, Spending, Unread, UnreadEffect, UnreadFile
from replay.safety.text import one_line

_WHOSE: Final[Mapping[Fault, str]] = {
    Fault.MODEL: "the model's",
    Fault.ENVIRONMENT: "the environment's",
    Fault.POLICY: "the policy's of fleet or harness",
    Fault.UNKNOWN: "not known",
}
_MAX_PATHS: Final = 3
_MAX_PATH: Final = 80
_MAX_EFFECTS: Final = 12
_KINDS: Final = {
    "broken": "could not be read",
    "in-part": "could not be read as a whole",
    "no-call": "gave no call, but may have some",
}


def certainty_line(certainties: Mapping[Certainty, int]) -> str:
    """How many verdicts are not certain, and how many rest on nothing; "" where all are certain."""
    nothing, likely = certainties.get(UNFOUNDED, 0), certainties.get("likely", 0)
    if not nothing and not likely:
        return ""
    also = f"; {likely:,} {'is' if likely == 1 else 'are'} likely, not certain" if likely else ""
    rest = "rests" if nothing == 1 else "rest"
    shown = f" (certainty:{UNFOUNDED})" if nothing else ""
    whole = sum(certainties.values())
    of = f"Of {whole:,} {'verdict' if whole == 1 else 'verdicts'} {nothing:,}"
    return f"{of} {rest} on nothing but the absence of an error or of its cause{shown}{also}"


def fault_line(faults: Mapping[Fault, int]) -> str:
    """Whose fault the calls are that did not succeed; "" where all are the model's."""
    failed = sum(faults.values())
    if failed == faults.get(Fault.MODEL, 0):
        return ""
    shown = ", ".join(f"{_WHOSE[fault]} {faults.get(fault, 0):,}" for fault in Fault)
    calls = "1 call without success is" if failed == 1 else f"{failed:,} calls without success are"
    return f"Whose fault the {calls}: {shown}"


def repeated_line(repeated: RepeatedCalls | None) -> str:
    """How many calls were left out, since other session files hold them too; "" where there are none."""
    if repeated is None:
        return ""
    held = f"{counted(repeated.calls, 'call')} of {counted(repeated.files, 'session file')}"
    return f"Left out: {held} that other files hold too, as resumed and forked sessions do"


def spending_line(spending: Sequence[Spending]) -> str:
    """What failures cost, and which tool took longest; "" where no file says what calls took."""
    if not spending:
        return ""
    whole, parts = spending[0], []
    if whole.tokens:
        after, failed = (100 * part / whole.tokens for part in (whole.tokens_after_fault, whole.failed_tokens))
        parts.append(
            f"{after:.0f} % of the tokens were spent after the first fault of the environment, and {failed:.0f} % on "
            "replies of which no call succeeded"
        )
    if whole.seconds:
        slowest = next(one for one in spending if one.by == "tool")
        failed, own = (100 * part / whole.seconds for part in (whole.failed_seconds, slowest.seconds))
        parts.append(
            f"of {whole.seconds:,.0f} seconds in calls {failed:.0f} % went to calls that did not succeed, and "
            f"{own:.0f} % to {one_line(slowest.name, 60)}"
        )
    return "; ".join(parts)


def unread_label(files: Sequence[UnreadFile]) -> str:
    """The head of the row of a table that stands for what was not read."""
    return f"not read: {counted(len(files), 'file')}"


def unread_calls(files: Sequence[UnreadFile]) -> str:
    """How many calls they hold, as far as it is known: `47 or more`, or `?`."""
    known = sum(file.calls or 0 for file in files)
    return f"{known:,} or more" if known else "?"


def unread_lines(unread: Unread | None) -> Iterator[str]:
    """Which files were not read, and what they could change; nothing where all were read."""
    if unread is None:
        return
    for kind, what in _KINDS.items():
        files = [file for file in unread.files if file.kind == kind]
        if files:
            names = [one_line(file.path) for file in files[:_MAX_PATHS]]
            paths = ", ".join(name if len(name) <= _MAX_PATH else f"…{name[1 - _MAX_PATH :]}" for name in names)
            more = ", ..." if len(files) > _MAX_PATHS else ""
            known = sum(file.calls or 0 for file in files)
            calls = f" ({known:,} {'call' if known == 1 else 'calls'} or more)" if known else ""
            yield f"Not in the table: {counted(len(files), 'file')}{calls} {what}: {paths}{more}"
    for effect in unread.effects[:_MAX_EFFECTS]:
        yield _effect_line(effect)
    if len(unread.effects) > _MAX_EFFECTS:
        yield f"  and {len(unread.effects) - _MAX_EFFECTS} more models; --json has them"


def _effect_line(effect: UnreadEffect) -> str:
    what = f"{one_line(effect.model, 40)}: {effect.measure}" if effect.model else effect.measure.capitalize()
    taken = ", as many as other files hold" if effect.assumed else ""
    held = f"what was not read (taken as {counted(effect.count, effect.of)}{taken})"
    between = f"between {100 * effect.low:.1f} % and {100 * effect.high:.1f} %"
    return f"{what} would lie {between} if {held} had all failed or all succeeded"
