"""Whether what the environment is said to have failed was the call's own doing."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from replay.dag.documents import leaves
from replay.diagnosis.requests import did_its_work, full_text, question_of
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.outcomes.call_facts import ArgumentIndex, runs_commands
from replay.records import Reason
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
    return [str(argument.value) for argument in context.scalars(position) if "://" in str(argument.value)]


def _known_before(context: TrajectoryContext, position: str) -> str:
    """The task and all answers of earlier steps."""
    earlier = (full_text(context, call.position) for call in context.earlier(position))
    return "\n".join([question_of(context), *earlier])
