"""What a call that the environment failed meant for its task, and whether a task's success rests on anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from replay.dag.documents import leaves
from replay.diagnosis.phrasing import counted, listed, plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.diagnosis.unchecked_writes import WRITES
from replay.outcomes import answer_rules
from replay.outcomes.call_facts import ArgumentIndex, runs_commands
from replay.records import ENVIRONMENT_REASONS, Outcome, Reason, canonical, texts_of
from replay.records.audit import AuditedFault, Bearing
from replay.records.files import CallRow
from replay.safety.secret_patterns import REDACTED, SENSITIVE_NAMES

_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_MIN_NAMED: Final = 0.5
"""Share of an argument's words that the task must hold to have asked for it."""
_FEW: Final = 2
_MAX_PHRASE: Final = 60
_MAX_ENTRY: Final = 300
"""Characters of an entry of a listing."""
_WITH_DIGIT: Final = re.compile(r"(?<![\w.@:/-])[\w.@:-]*\d[\w.@:-]*\w(?![\w@/-])")
_WORDS_ALONE: Final = re.compile(r"[a-z_]+")
"""A name that the model may have made up for what it makes: another call that makes the same gives it another."""
_CELLS: Final = re.compile(r"(?:.*!)?\$?[A-Z]{1,3}\$?(?:\d+|\d*:\$?[A-Z]{1,3}\$?\d*)")
_UNKNOWN_HOST: Final = re.compile(
    r"ENOTFOUND|EAI_NONAME|NXDOMAIN|NAME_NOT_RESOLVED|name or service not known|nodename nor servname|no such host",
    re.I,
)
"""The resolver answered, and knows no such host; where it does not answer it says otherwise."""
_NO_NETWORK: Final = re.compile(
    r"EAI_AGAIN|temporary failure in (?:name )?resol|could not resolve (?:host|proxy)|ENETUNREACH|EHOSTUNREACH"
    r"|network is unreachable|no route to host|ETIMEDOUT|connect(?:ion|ing)?(?: to \S+)? timed out"
    r"|tunnel connection failed|unable to connect to proxy",
    re.I,
)
"""There is no way out of the machine. Where nothing listens at an address, or it has no such page, there is one."""
_CREDENTIAL: Final = re.compile(SENSITIVE_NAMES, re.I)
_FIGURE: Final = re.compile(r"\d[\d.,:-]*\d\d?|\b[\w.-]+@[\w.-]+\b|\b[\w-]{2,}\.[a-z]{2,5}\b")
"""What a reply says that it must have from somewhere: numbers of two digits and more, addresses, files."""


class _Bearing(NamedTuple):
    kind: Bearing
    why: str


class _Asked(NamedTuple):
    """What a call asks for."""

    whole: frozenset[str]
    """Arguments that are a path, an id, an address, a number, a code of capitals; cells only say how much of it."""
    values: frozenset[str]
    """Those, what of that kind stands inside longer texts, the last parts of paths, short texts of several words."""
    words: frozenset[str]
    text: str
    """Of all arguments."""


def environment_faults(context: TrajectoryContext) -> Iterator[AuditedFault]:
    """The calls of a trajectory that the environment failed when it was recorded, in the order of its steps."""
    failed = {
        position: reason
        for position, row in context.rows.items()
        if (reason := recorded_fault(row)) is not None and not _own_doing(context, position, reason)
    }
    asked = {position: _asked(context, position) for position in context.rows} if failed else {}
    for position, reason in failed.items():
        row = context.rows[position]
        dependents = _dependents(context, position)
        kind, why = next(_bearings(context, position, dependents, asked))
        yield AuditedFault(
            call=context.ref(position),
            tool=row.tool,
            server=row.server,
            reason=reason,
            message=plain(row.message, 200) + ".",
            bearing=kind,
            why=why,
            then=_then(context, position),
            dependents=tuple(dependents),
        )


def recorded_fault(row: CallRow) -> Reason | None:
    """Why the environment failed a call when it was recorded; None where it did not, or where nobody can tell."""
    if row.outcome is Outcome.ILLEGAL_FORMAT or (row.recorded is None and row.evidence != "recorded"):
        return None
    reason = row.reason if row.evidence == "recorded" else _reasons().get(row.recorded_rule or "")
    judged = row.outcome if row.evidence == "recorded" else row.recorded
    return reason if judged is Outcome.INCONCLUSIVE and reason in ENVIRONMENT_REASONS else None


def unfounded(context: TrajectoryContext) -> str | None:
    """Why a task that is reported as won rests on nothing that the trajectory shows; None where it rests on something.

    Returns:
        One sentence: no call was made, none succeeded, or nothing was written and no figure of the reply stands in any
        answer or in the question.
    """
    if not context.calls:
        return "No call was made."
    if len(context.rows) != len(context.calls):
        return None
    good = [position for position, row in context.rows.items() if _did_its_work(row)]
    if not good:
        return f"Of {counted(len(context.rows), 'call')} none is known to have succeeded."
    return _unsupported_figures(context) if all(map(context.only_reads, good)) else None


def _unsupported_figures(context: TrajectoryContext) -> str | None:
    """Of a task in which nothing was written: that no figure of the reply stands anywhere before it."""
    figures = {match[0] for match in _FIGURE.finditer(context.trajectory.final_reply or "")}
    known = "\n".join([context.trajectory.task.question or "", *(_text(context, at) for at in context.calls)])
    digits = known.replace(",", "")
    if not figures or any(figure in known or figure.replace(",", "") in digits for figure in figures):
        return None
    shown = listed(sorted(map(quoted, figures)), most=3)
    return f"Nothing was written, and no answer holds what the reply says: {shown}."


def _did_its_work(row: CallRow) -> bool:
    return row.outcome is Outcome.SUCCESS or row.recorded is Outcome.SUCCESS


def _answered(row: CallRow) -> bool:
    """Whether the tool did what it is there for, be it to say that there is no such thing."""
    return _did_its_work(row) or Outcome.NOT_FOUND in (row.outcome, row.recorded)


@cache
def _reasons() -> dict[str, Reason | None]:
    return {rule.id: rule.reason for rule in answer_rules()}


def _own_doing(context: TrajectoryContext, position: str, reason: Reason) -> bool:
    """Whether what the environment is said to have failed was the call's own doing.

    That is a call without the arguments that its tool takes elsewhere, a program that it brought and that does not end,
    or that reached nothing although there was a network, and what the functions below say of credentials and addresses.
    """
    call = context.calls[position]
    if reason is Reason.SERVER_FAULT and not call.arguments:
        alike = (other for other in context.calls.values() if other.name == call.name)
        return any(other.arguments and _did_its_work(context.rows[other.position]) for other in alike)
    if runs_commands(ArgumentIndex(call.arguments, tool_name=context.rows[position].tool or call.name or "")):
        unreached = reason is Reason.NETWORK and not _NO_NETWORK.search(_text(context, position))
        return reason is Reason.TIMEOUT or unreached
    if reason is Reason.UNAUTHORIZED:
        return _brought_no_right(context, position)
    return reason is Reason.NETWORK and _made_up_address(context, position)


def _brought_no_right(context: TrajectoryContext, position: str) -> bool:
    """Whether a refused call brought a credential that nobody had given, or wants a page that the task does not name.

    What a credential was is not kept: one that stands in the task is known only where it does not look like one.
    """
    named = {path: str(value) for path, value in leaves(context.arguments(position)) if _CREDENTIAL.search(path)}
    if named:
        edges = {edge.consumer_pointer for edge in context.graph.edges if edge.consumer == position}
        known = _known_before(context, position)
        return not any(path in edges or (REDACTED not in value and value in known) for path, value in named.items())
    urls = _addresses(context, position)
    return bool(urls) and not any(url in _question(context) for url in urls)


def _made_up_address(context: TrajectoryContext, position: str) -> bool:
    """Whether a call went to an address without a host, or to an unknown host that nobody had named."""
    urls = _addresses(context, position)
    hosts = {urlsplit(url).hostname for url in urls} - {None}
    if not hosts or not _UNKNOWN_HOST.search(_text(context, position)):
        return bool(urls) and not hosts
    known = _known_before(context, position).casefold()
    return not any(host and host in known for host in hosts)


def _addresses(context: TrajectoryContext, position: str) -> list[str]:
    return [str(argument.value) for argument in context.scalars(position) if "://" in str(argument.value)]


def _known_before(context: TrajectoryContext, position: str) -> str:
    """The task and all answers of earlier steps."""
    earlier = (_text(context, call.position) for call in context.earlier(position))
    return "\n".join([_question(context), *earlier])


def _bearings(
    context: TrajectoryContext, position: str, dependents: list[str], asked: Mapping[str, _Asked]
) -> Iterator[_Bearing]:
    """What holds of a failed call; the first decides."""
    if (got := _got_by(context, position, asked)) is not None:
        yield _Bearing("recovered", got)
    failed = [at for at in dependents if _failed_and_mattered(context, at, asked)]
    if failed:
        yield _Bearing("on-path", f"{listed(failed)} depended on it and did not succeed.")
    later = _later(context, position)
    again = [at for at in later if context.rows[at].tool == context.rows[position].tool]
    if again and not any(_answered(context.rows[at]) or _got_by(context, at, asked) for at in again):
        yield _Bearing("on-path", f"The same tool was asked {counted(len(again), 'more time')} and never answered.")
    if _matters(context, position) and not any(at in later for at in _successes_alike(context, position)):
        yield _Bearing("on-path", "No later call succeeded." if later else "The model stopped there.")
    if (named := _named_by_task(context, position, asked)) is not None:
        yield _Bearing("on-path", f"The task asks for {quoted(named, 60)}, and no other call got it.")
    if (word := _picked_by_task(context, position)) is not None:
        yield _Bearing("on-path", f"It was picked for {quoted(word, 60)}, which the task names, and never got.")
    yield _Bearing("beside", "Nothing depends on it, and the task does not name what it asked for.")


def _failed_and_mattered(context: TrajectoryContext, position: str, asked: Mapping[str, _Asked]) -> bool:
    """Whether a call that depends on a failed one failed too, and was neither made up for nor beside the path."""
    return not _did_its_work(context.rows[position]) and next(_bearings(context, position, [], asked)).kind == "on-path"


def _later(context: TrajectoryContext, position: str) -> list[str]:
    """The judged calls of later steps."""
    step = context.step_of[position]
    return [later for later in context.rows if context.step_of[later] > step]


def _dependents(context: TrajectoryContext, position: str) -> list[str]:
    """Calls that took a value from it, whose failure follows from it, or whose replay it tainted."""
    consumers = {edge.consumer for edge in context.graph.edges if edge.producer == position}
    consumers |= {later for later, row in context.rows.items() if position in (row.caused_by, row.gap)}
    return sorted(consumers, key=context.order.__getitem__)


def _asked(context: TrajectoryContext, position: str) -> _Asked:
    texts = [str(value) for _, value in leaves(context.arguments(position))]
    inside = {word for text in texts for word in _WITH_DIGIT.findall(text) if len(word) > _FEW}
    values = {*context.mentions[position], *inside, *(text for text in texts if text.isalpha() and text.isupper())}
    values = {value for value in values if not (_is_word(value) or " " in value or _CELLS.fullmatch(value))}
    names = {value.rpartition("/")[2] for value in values} - {""}
    words = {word for text in texts if " " in text or _is_word(text) for word in _words(text)}
    whole = {_document(value) for value in values if value in texts or f"{value}/" in texts}
    phrases = {text for text in texts if " " in text and len(text) <= _MAX_PHRASE}
    return _Asked(frozenset(whole), frozenset(values | names | phrases), frozenset(words), "\n".join(texts))


def _is_word(text: str) -> bool:
    return text.isalpha() and not text.isupper()


def _document(value: str) -> str:
    """A value; of an address on the web what stands behind the host, since mirrors have the same."""
    path = value.partition("://")[2].partition("/")[2]
    return path if "/" in path else value


def _got_by(context: TrajectoryContext, position: str, asked: Mapping[str, _Asked]) -> str | None:
    """The call that succeeded and had asked for the same or for more, or what later calls asked for together.

    The same are the arguments that few calls have, and all that the task names.
    """
    question, own, arguments = _question(context), asked[position], context.arguments(position)
    uses = Counter(value for other in asked.values() for value in other.whole)
    few = {value for value in own.whole if uses[value] <= max(_FEW, len(context.calls) // 2)}
    wanted = {value for value in few if uses[value] > 1 or not _WORDS_ALONE.fullmatch(value)}
    wanted |= {value for value in own.values if _holds(question, value)}
    words = own.words & _words(question)
    tool, later = context.rows[position].tool, []

    def covered(text: str) -> bool:
        return all(_holds(text, value) for value in wanted) and len(words & _words(text)) >= _MIN_NAMED * len(words)

    for other in _successes_alike(context, position):
        more = context.arguments(other)
        wider = more.items() <= arguments.items() and bool(more) == bool(arguments)
        if wider and context.rows[other].tool == tool:
            return f"{other} asked for the same and got it."
        if context.step_of[other] >= context.step_of[position]:
            later.append(other)
    if not (wanted or words):
        return None
    for other in later:
        if covered(asked[other].text):
            same = context.rows[other].tool == tool
            return f"{other} asked {'for the same and got it' if same else 'another tool about the same and got it'}."
    together = covered("\n".join(asked[other].text for other in later))
    return "Later calls asked for all of it and got it." if together else None


def _successes_alike(context: TrajectoryContext, position: str) -> list[str]:
    """The calls that succeeded, but none that only reads for one that writes, nor the other way round."""
    reads, writes = context.only_reads(position), WRITES.search(context.calls[position].name or "") is not None
    return [
        other
        for other, row in context.rows.items()
        if _did_its_work(row)
        and not (context.only_reads(other) if writes and not reads else WRITES.search(context.calls[other].name or ""))
    ]


def _named_by_task(context: TrajectoryContext, position: str, asked: Mapping[str, _Asked]) -> str | None:
    """What the task speaks of and no other call had: a value, or words of a text of which it has half."""
    question, own = _question(context), asked[position]
    got = "\n".join(asked[other].text for other in _successes_alike(context, position))
    for value in sorted(own.values, key=lambda value: (-len(value), value)):
        if _holds(question, value) and not _holds(got, value):
            return value
    missing = (own.words & _words(question)) - _words(got)
    for _, argument in leaves(context.arguments(position)):
        text = str(argument)
        if own.words & missing and len(_words(text) & _words(question)) >= _MIN_NAMED * len(_words(text)) > 0:
            return text
    return None


def _picked_by_task(context: TrajectoryContext, position: str) -> str | None:
    """A word of the task that stands, in the answer that a value came from, beside this value alone."""
    words = _words(_question(context))
    for edge in context.graph.edges:
        if edge.consumer == position:
            records = re.split(r"\n|\}\s*,\s*\{", _text(context, edge.producer))
            own = [record for record in records if str(edge.value) in record]
            others = _words("\n".join(record for record in records if record not in own))
            picked = (words & _words("\n".join(own))) - others
            if picked and others and max(map(len, records)) <= _MAX_ENTRY:
                return min(picked)
    return None


def _matters(context: TrajectoryContext, position: str) -> bool:
    """Whether a failed call had to do with the rest: it writes, took a value from an answer, or nothing succeeded."""
    return (
        WRITES.search(context.calls[position].name or "") is not None
        or any(edge.consumer == position for edge in context.graph.edges)
        or not any(map(_did_its_work, context.rows.values()))
    )


def _question(context: TrajectoryContext) -> str:
    return context.trajectory.task.question or ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _holds(text: str, value: str) -> bool:
    """Whether a text holds a value as a word of its own; a code of capitals as it is written."""
    flags = re.NOFLAG if value.isupper() else re.IGNORECASE
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, flags) is not None


def _then(context: TrajectoryContext, position: str) -> str:
    later = _later(context, position)
    if not later:
        return "gave up"
    same = (context.calls[position].name, canonical(context.arguments(position)))
    if any((context.calls[at].name, canonical(context.arguments(at))) == same for at in later):
        return "asked again"
    if any(context.rows[at].tool == context.rows[position].tool for at in later):
        return "asked it with other arguments"
    return "went another way"


def _text(context: TrajectoryContext, position: str) -> str:
    call = context.calls[position]
    answers = (call.answer, context.answers.get(position))
    return "\n".join(text for answer in answers if answer is not None for text in texts_of(answer))
