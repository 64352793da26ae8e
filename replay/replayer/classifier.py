"""The ladder, put to the calls of one trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replay.outcomes import Registry, judge_answer, judge_format, judge_registry, judge_unsent, schema_violations
from replay.records import Answer, Call, Evidence, Judgement, RuleSpec, SchemaViolation, Tool


class Target(NamedTuple):
    """What a call's name was read as, and what its arguments break there."""

    server: str | None
    tool: str
    record: Tool | None = None
    """The tool, where its server is in the registry and lists it."""
    digest: str | None = None
    """Of its server's identity and tools/list; None where they are not known."""
    violations: tuple[SchemaViolation, ...] = ()


class Classifier:
    """Judges calls by what is known of the fleet, and by what earlier calls stored.

    Args:
        registry: the tools that exist.
        rules: the user's own rules, by server.
    """

    def __init__(self, registry: Registry, rules: Mapping[str, Sequence[RuleSpec]]) -> None:
        self._registry, self._rules = registry, rules
        self._stored: set[str] = set()

    def target(self, call: Call) -> Target:
        """Read a call's name, and hold its arguments against the tool's schema."""
        if call.name is None:
            return Target(None, "")
        server, tool = self._registry.read(call)
        if self._registry.server_names and server not in self._registry.server_names:
            return Target(None, call.name)
        known = self._registry.servers.get(server or "")
        record = known.tool(tool) if known else None
        broken = schema_violations(record, call.arguments) if record and call.arguments is not None else ()
        return Target(server, tool, record, known.digest if known else None, broken)

    def in_fleet(self, server: str | None) -> bool:
        """Whether the fleet has a server of that name."""
        return server in self._registry.server_names

    def is_read_only(self, server: str | None, tool: str | None) -> bool:
        """Whether a tool is annotated so."""
        known = self._registry.servers.get(server or "")
        record = known.tool(tool or "") if known else None
        return record is not None and record.read_only

    def before_sending(self, call: Call) -> Judgement | None:
        """What the rungs before the answer say: format, registry."""
        return judge_format(call) or judge_registry(call, self._registry)

    def recorded(self, call: Call, target: Target) -> Judgement | None:
        """What the recorded answer says; None without one."""
        return self.answered(call, target, call.answer, "recorded") if call.answer is not None else None

    def answered(self, call: Call, target: Target, answer: Answer, evidence: Evidence) -> Judgement:
        """What an answer says."""
        return judge_answer(
            call,
            answer,
            evidence=evidence,
            tool=target.record,
            violations=target.violations,
            rules=self._rules.get(target.server or "", ()),
            stored=self._stored,
        )

    def unsent(self, call: Call, target: Target) -> Judgement:
        """What can be said of a call that is not re-issued."""
        rules = self._rules.get(target.server or "", ())
        return judge_unsent(call, target.record, target.violations, call.answer, rules, self._stored)

    def remember(self, call: Call) -> None:
        """Note the texts that a successful call may have stored: read back, they are content."""
        self._stored.update(_texts_in(call.arguments))


def _texts_in(value: Any) -> Iterator[str]:
    """Strings of more than one word. A bare path that comes back is no content."""
    if isinstance(value, str):
        if len(value.split(maxsplit=1)) > 1:
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)
