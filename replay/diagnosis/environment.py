"""Calls that nobody can judge: what the environment failed, how that is mended, and what was the call's own doing."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from replay.dag.documents import leaves
from replay.diagnosis.error_answers import absent_program, no_program
from replay.diagnosis.phrasing import plain, quoted
from replay.diagnosis.requests import did_its_work, full_text, question_of
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.call_facts import ArgumentIndex, runs_commands
from replay.outcomes.error_report import CRASHED
from replay.records import Outcome, Reason
from replay.records.finding import Finding
from replay.safety.secret_patterns import REDACTED, SENSITIVE_NAMES

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
_HOST: Final = re.compile(
    r"(?:https?://|resolve(?: host)? ['\"]?|ENOTFOUND |host=['\"])(?P<host>[A-Za-z0-9.-]+\.[A-Za-z]{2,})"
)
_OF_THE_FLEET: Final = frozenset({Reason.RATE_LIMITED, Reason.UNAUTHORIZED, Reason.NETWORK})
"""Reasons whose suggestions are about how the fleet is run."""
_OF_A_SERVER: Final = _OF_THE_FLEET | {Reason.NO_ANSWER, Reason.SERVER_FAULT}
_GAPS: Final[dict[Reason, str]] = {
    Reason.SERVER_UNAVAILABLE: "could not be re-issued (its server did not start)",
    Reason.LOCAL_TOOL: "is a call of the harness's own tool, which cannot be re-issued",
    Reason.NOT_IN_FLEET: "could not be re-issued (its server is not in the fleet)",
    Reason.TIMEOUT: "timed out",
    Reason.RATE_LIMITED: "was refused by a rate limit",
    Reason.UNAUTHORIZED: "lacked credentials",
    Reason.NETWORK: "met no network",
    Reason.SERVER_FAULT: "met a fault of its server",
    Reason.INTERRUPTED: "was cut off",
    Reason.BEYOND_LIMITS: "is beyond what replay reads",
    Reason.REPLAY_FAULT: "could not be replayed",
    Reason.UNEXPLAINED: "met an error that nothing explains",
    Reason.NO_ANSWER: "has no answer",
    Reason.STATE_GAP: "stands behind a state gap itself",
    Reason.WITHHELD: "was not re-issued",
}


class _Message(NamedTuple):
    """What is said; in braces the names of `_values`."""

    kind: str
    sentence: str
    suggestion: str | None = None


_MESSAGES: Final[dict[Reason, _Message]] = {
    Reason.SERVER_UNAVAILABLE: _Message(
        "server-did-not-start",
        "Server {server} did not start, so the call could not be re-issued: {why}.{log}",
        "Try it with: {check}",
    ),
    Reason.NOT_IN_FLEET: _Message(
        "server-not-in-fleet",
        "No server of this fleet has {name}, but the recorded answer shows that the tool ran.",
        "Add its server to the fleet file, under the name that the trajectory uses.",
    ),
    Reason.LOCAL_TOOL: _Message(
        "tool-of-the-harness", "{name} is a tool of the harness that made the recording; no MCP server has it."
    ),
    Reason.TIMEOUT: _Message("timed-out", "{server} reports that something behind it took too long: {short_reply}."),
    Reason.RATE_LIMITED: _Message(
        "rate-limited",
        "The backend of {server} limits how often it may be asked: {short_reply}.",
        "Run classify again later with fewer --jobs: it goes on with what has no verdict.",
    ),
    Reason.UNAUTHORIZED: _Message(
        "unauthorized",
        "{server} lacks credentials that work: {short_reply}.",
        "Set its credentials in the environment, as the fleet file names them.",
    ),
    Reason.NETWORK: _Message(
        "network",
        "{server} could not reach {host}: {short_reply}.",
        "Run it where the network lets the server out, or judge by recorded answers with --offline.",
    ),
    Reason.SERVER_FAULT: _Message(
        "server-fault",
        "{server} failed by a fault of its own: {reply}.",
        "Report it to the server's maintainer; the Markdown report of this call is made for that.",
    ),
    Reason.UNEXPLAINED: _Message("unexplained", "The answer is an error, and nothing tells whose: {reply}."),
    Reason.NO_ANSWER: _Message(
        "no-answer",
        "The recording holds no answer to the call, none is stored, and no server was asked.",
        "Run classify without --offline, with a fleet file that has its server.",
    ),
    Reason.WITHHELD: _Message(
        "withheld",
        "The call was not re-issued, and no recorded answer decides.",
        "Re-issue it: run classify with a fleet file that has its server{allow}.",
    ),
    Reason.INTERRUPTED: _Message(
        "interrupted",
        "The replay was cut off after the call had been sent; it has effects, so it is not sent twice.",
        "Start over with --fresh, if sending it again does no harm.",
    ),
    Reason.BEYOND_LIMITS: _Message("beyond-limits", "{message}"),
    Reason.REPLAY_FAULT: _Message(
        "replay-fault",
        "{message}",
        "This is a fault of replay, not of the call or its server: please report it.",
    ),
}


_MESSAGES_BY_RULE: Final[dict[str, _Message]] = {
    "fault.timeout": _Message(
        "timed-out",
        "{server} gave no answer in time: {short_reply}.",
        "Raise call_timeout of the server in the fleet file, if the tool takes so long.",
    ),
    "answer.too-large": _Message(
        "rate-limited", "The answer was held back, because it is longer than is handed out: {short_reply}."
    ),
    "answer.environment": _Message(
        "server-fault",
        "{server} lacks something where it runs, or that is full or broken: {reply}.",
        "Mend it where the server runs.",
    ),
    "replay.server-traceback": _Message(
        "server-fault",
        "{server} crashed, and the answer does not say why: {crash}.",
        "Report it to the server's maintainer; the Markdown report of this call is made for that.",
    ),
    "harness.not-permitted": _Message("not-permitted", "The call was not permitted: {reply}."),
    "registry.interrupted": _Message("interrupted", "The user refused the call, or it was aborted before it was done."),
    "harness.interrupted": _Message("cancelled", "The call was cancelled: {reply}."),
}
"""Rules that know more than the reason that they give."""


def environment_finding(context: TrajectoryContext, position: str, reason: Reason) -> Finding:
    """Why a call is inconclusive."""
    row = context.rows[position]
    program = absent_program(context, position) if reason is Reason.SERVER_FAULT else None
    if program is not None:
        return no_program(context, position, program)
    kind, sentence, suggestion = _message(context, position, reason)
    return context.finding(
        position,
        kind,
        sentence,
        suggestion,
        calls=context.refs(position, *([row.gap] if row.gap and row.gap in context.calls else [])),
    )


def _message(context: TrajectoryContext, position: str, reason: Reason) -> _Message:
    if reason is Reason.STATE_GAP:
        return _state_gap(context, position)
    kind, sentence, suggestion = _MESSAGES_BY_RULE.get(context.rows[position].rule, _MESSAGES[reason])
    values = _values(context, position)
    row = context.rows[position]
    # a tool of the agent's own is in no fleet, and no setting of ours changes what was recorded
    own = context.calls[position].local or (reason in _OF_A_SERVER and row.server is None)
    helps = None if own or (reason in _OF_THE_FLEET and row.evidence == "recorded") else suggestion
    return _Message(kind, sentence.format_map(values), helps.format_map(values) if helps else None)


def _values(context: TrajectoryContext, position: str) -> dict[str, str]:
    row, name = context.rows[position], context.calls[position].name or "?"
    reply = context.answer_text(position) or row.message
    server = context.servers.get(row.server or "")
    host = _HOST.search(context.answer_text(position))
    log = server.stderr_tail if server else None
    return {
        "server": quoted(row.server or name),
        "name": quoted(name),
        "message": row.message,
        "crash": plain(row.message.removeprefix(f"{CRASHED}: "), 240),
        "reply": plain(reply, 240),
        "short_reply": plain(reply),
        "why": plain((server.error if server else None) or row.message, 240),
        "log": f" The end of its log: {plain(log[-300:], 300)}." if log else "",
        "check": context.command.check(plain(row.server or "NAME")),
        "host": quoted(host["host"]) if host else "a host",
        "allow": f"; where the server may change something, allow it with --allow-effects {plain(row.server)}"
        if row.server
        else "",
    }


def _state_gap(context: TrajectoryContext, position: str) -> _Message:
    gap = context.rows[position].gap
    before = f"{gap} before it" if gap else "a call before it"
    happened, suggestion = _of_gap(context, gap) if gap else ("did not happen again as recorded", None)
    return _Message(
        "state-gap",
        f"The call failed on replay, but {before} {happened} and may have made what it needs.",
        suggestion,
    )


def _of_gap(context: TrajectoryContext, gap: str) -> tuple[str, str | None]:
    """The state of the call that left the gap, and how it is closed."""
    row = context.rows.get(gap)
    if row is None:
        return "was not re-issued", f"Judge {gap} too: run classify without --only."
    server = row.server or ""
    if context.calls[gap].local or row.rule == "registry.local-tool":
        return f"{_GAPS[Reason.LOCAL_TOOL]},", None
    if row.reason is Reason.WITHHELD or "withheld" in row.findings:
        allow = f"Let {gap} be re-issued: --allow-effects {shlex.quote(plain(server))}."
        lacking = f"Run classify with a fleet file that has the server of {gap}."
        return "was not re-issued", allow if server in context.servers else lacking
    if row.outcome is not Outcome.INCONCLUSIVE or row.reason is None:
        return "did not happen again as recorded", f"Look at {gap} first; this call can only be judged after it."
    suggestion = None if row.reason is Reason.STATE_GAP else _message(context, gap, row.reason).suggestion
    return _GAPS[row.reason], f"First {gap}: {suggestion}" if suggestion else f"Look at {gap} first."


def own_doing(context: TrajectoryContext, position: str, reason: Reason) -> bool:
    """Whether what the environment is said to have failed was the call's own doing.

    That is a call without the arguments that its tool takes elsewhere, a program that it brought and that does not end,
    or that reached nothing although there was a network, and what the functions below say of credentials and addresses.
    """
    call = context.calls[position]
    if reason is Reason.SERVER_FAULT and not call.arguments:
        alike = (other for other in context.calls.values() if other.name == call.name)
        return any(other.arguments and did_its_work(context.rows[other.position]) for other in alike)
    if runs_commands(ArgumentIndex(call.arguments, tool_name=context.rows[position].tool or call.name or "")):
        unreached = reason is Reason.NETWORK and not _NO_NETWORK.search(full_text(context, position))
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
    return bool(urls) and not any(url in question_of(context) for url in urls)


def _made_up_address(context: TrajectoryContext, position: str) -> bool:
    """Whether a call went to an address without a host, or to an unknown host that nobody had named."""
    urls = _addresses(context, position)
    hosts = {urlsplit(url).hostname for url in urls} - {None}
    if not hosts or not _UNKNOWN_HOST.search(full_text(context, position)):
        return bool(urls) and not hosts
    known = _known_before(context, position).casefold()
    return not any(host and host in known for host in hosts)


def _addresses(context: TrajectoryContext, position: str) -> list[str]:
    return [str(argument.value) for argument in context.scalars[position] if "://" in str(argument.value)]


def _known_before(context: TrajectoryContext, position: str) -> str:
    """The task and all answers of earlier steps."""
    earlier = (full_text(context, call.position) for call in context.earlier(position))
    return "\n".join([question_of(context), *earlier])
