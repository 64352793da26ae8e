"""Calls that could not be judged: what stood in the way, and what lets them be judged next time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

from replay.diagnosis.phrasing import plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Outcome, Reason
from replay.records.finding import Finding

_HOST: Final = re.compile(
    r"(?:https?://|resolve(?: host)? ['\"]?|ENOTFOUND |host=['\"])(?P<host>[A-Za-z0-9.-]+\.[A-Za-z]{2,})"
)
_Message = Callable[[TrajectoryContext, str], tuple[str, str, str | None]]
"""Gives the kind, the sentence and the suggestion."""


def environment_finding(context: TrajectoryContext, position: str, reason: Reason) -> Finding:
    """Why a call is inconclusive."""
    row = context.rows[position]
    kind, sentence, suggestion = _MESSAGES[reason](context, position)
    return Finding(
        kind=kind,
        scope="call",
        sentence=sentence,
        suggestion=suggestion,
        calls=context.refs(position, *([row.gap] if row.gap and row.gap in context.calls else [])),
        certainty=row.certainty,
    )


def _server(context: TrajectoryContext, position: str) -> str:
    return quoted(context.rows[position].server or context.calls[position].name or "?")


def _unavailable(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    server = context.servers.get(context.rows[position].server or "")
    why = plain(server.error or "", 240) if server and server.error else plain(context.rows[position].message, 240)
    tail = f" The end of its log: {plain(server.stderr_tail[-300:], 300)}." if server and server.stderr_tail else ""
    return (
        "server-did-not-start",
        f"Server {_server(context, position)} did not start, so the call could not be re-issued: {why}.{tail}",
        f"Try it with: {context.command.check(plain(context.rows[position].server or 'NAME'))}",
    )


def _not_in_fleet(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    name = quoted(context.calls[position].name or "?")
    return (
        "server-not-in-fleet",
        f"No server of this fleet has {name}, but the recorded answer shows that the tool ran.",
        "Add its server to the fleet file, under the name that the trajectory uses.",
    )


def _local_tool(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    name = quoted(context.calls[position].name or "?")
    return (
        "tool-of-the-harness",
        f"{name} is a tool of the harness that made the recording; no MCP server has it.",
        None,
    )


def _timeout(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    answer = plain(_reply(context, position))
    if context.rows[position].rule != "fault.timeout":
        return (
            "timed-out",
            f"{_server(context, position)} reports that something behind it took too long: {answer}.",
            None,
        )
    return (
        "timed-out",
        f"{_server(context, position)} gave no answer in time: {answer}.",
        "Raise call_timeout of the server in the fleet file, if the tool takes so long.",
    )


def _rate_limited(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    reply = plain(_reply(context, position))
    return (
        "rate-limited",
        f"The backend of {_server(context, position)} limits how often it may be asked: {reply}.",
        "Run classify again later with fewer --jobs: it goes on with what has no verdict.",
    )


def _unauthorized(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    if context.rows[position].rule == "harness.not-permitted":
        return "not-permitted", f"The call was not permitted: {plain(_reply(context, position), 240)}.", None
    return (
        "unauthorized",
        f"{_server(context, position)} lacks credentials that work: {plain(_reply(context, position))}.",
        "Set its credentials in the environment, as the fleet file names them.",
    )


def _network(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    host = _HOST.search(context.answer_text(position))
    what = quoted(host["host"]) if host else "a host"
    return (
        "network",
        f"{_server(context, position)} could not reach {what}: {plain(_reply(context, position))}.",
        "Run it where the network lets the server out, or judge by recorded answers with --offline.",
    )


def _server_fault(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    return (
        "server-fault",
        f"{_server(context, position)} failed by a fault of its own: {plain(_reply(context, position), 240)}.",
        "Report it to the server's maintainer; the Markdown report of this call is made for that.",
    )


def _unexplained(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    reply = plain(_reply(context, position), 240)
    return "unexplained", f"The answer is an error, and nothing tells whose: {reply}.", None


def _no_answer(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    return (
        "no-answer",
        "The recording holds no answer to the call, none is stored, and no server was asked.",
        "Run classify without --offline, with a fleet file that has its server.",
    )


def _withheld(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    server = context.rows[position].server
    fleet = "Re-issue it: run classify with a fleet file that has its server"
    allow = f"; where the server may change something, allow it with --allow-effects {plain(server)}" if server else ""
    return "withheld", "The call was not re-issued, and no recorded answer decides.", f"{fleet}{allow}."


def _state_gap(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    gap = context.rows[position].gap
    before = f"{gap} before it" if gap else "a call before it"
    happened, suggestion = _of_gap(context, gap) if gap else ("did not happen again as recorded", None)
    return (
        "state-gap",
        f"The call failed on replay, but {before} {happened} and may have made what it needs.",
        suggestion,
    )


def _of_gap(context: TrajectoryContext, gap: str) -> tuple[str, str | None]:
    """What became of the call that left the gap, and how it is closed."""
    row = context.rows.get(gap)
    if row is None:
        return "was not re-issued", f"Judge {gap} too: run classify without --only."
    server = row.server or ""
    if row.reason is Reason.WITHHELD or "withheld" in row.findings:
        allow = f"Let {gap} be re-issued: --allow-effects {shlex.quote(plain(server))}."
        lacking = f"Run classify with a fleet file that has the server of {gap}."
        return "was not re-issued", allow if server in context.servers else lacking
    if row.outcome is not Outcome.INCONCLUSIVE or row.reason is None:
        return "did not happen again as recorded", f"See what became of {gap}; this call can only be judged after it."
    if row.rule == "registry.local-tool":
        return "is a call of the harness's own tool, which cannot be re-issued,", None
    suggestion = None if row.reason is Reason.STATE_GAP else _MESSAGES[row.reason](context, gap)[2]
    return _GAPS[row.reason], f"First {gap}: {suggestion}" if suggestion else f"See what became of {gap} first."


def _interrupted(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    if context.rows[position].rule == "registry.interrupted":
        return "interrupted", "The user refused the call, or it was aborted before it was done.", None
    if context.rows[position].rule == "harness.interrupted":
        return "cancelled", f"The call was cancelled: {plain(_reply(context, position), 240)}.", None
    return (
        "interrupted",
        "The replay was cut off after the call had been sent; it has effects, so it is not sent twice.",
        "Start over with --fresh, if sending it again does no harm.",
    )


def _beyond_limits(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    return "beyond-limits", context.rows[position].message, None


def _replay_fault(context: TrajectoryContext, position: str) -> tuple[str, str, str | None]:
    return (
        "replay-fault",
        context.rows[position].message,
        "This is a fault of replay, not of the call or its server: please report it.",
    )


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


def _reply(context: TrajectoryContext, position: str) -> str:
    return context.answer_text(position) or context.rows[position].message


_MESSAGES: Final[dict[Reason, _Message]] = {
    Reason.SERVER_UNAVAILABLE: _unavailable,
    Reason.LOCAL_TOOL: _local_tool,
    Reason.NOT_IN_FLEET: _not_in_fleet,
    Reason.TIMEOUT: _timeout,
    Reason.RATE_LIMITED: _rate_limited,
    Reason.UNAUTHORIZED: _unauthorized,
    Reason.NETWORK: _network,
    Reason.SERVER_FAULT: _server_fault,
    Reason.UNEXPLAINED: _unexplained,
    Reason.NO_ANSWER: _no_answer,
    Reason.WITHHELD: _withheld,
    Reason.STATE_GAP: _state_gap,
    Reason.INTERRUPTED: _interrupted,
    Reason.BEYOND_LIMITS: _beyond_limits,
    Reason.REPLAY_FAULT: _replay_fault,
}
