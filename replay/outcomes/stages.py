"""How a call is classified: four stages, and the first that decides, decides.

| stage | what it asks | where |
| --- | --- | --- |
| 1. format | Is the call well formed? | `call_format.py` |
| 2. registry | Does the tool exist in the fleet? | `registry.py` |
| 3. arguments | Do they fit the tool's inputSchema? | `judge_arguments` below |
| 4. answer | What does the answer say? | `judge_answer` below, with `evidence.py` and `rules.py` |

Every call passes the first two, in `before_sending`. A call that is re-issued, or whose answer is stored, goes on to
the fourth, in `answered`: servers coerce and ignore, so the answer decides and not the schema. A call that is not
re-issued goes on to the third, and then to the fourth by its recorded answer, in `not_reissued`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from replay.json_values import bounded
from replay.outcomes.call_facts import runs_commands
from replay.outcomes.call_format import judge_format
from replay.outcomes.envelopes import open_answer
from replay.outcomes.error_report import program_words
from replay.outcomes.evidence import ParsedAnswer
from replay.outcomes.input_schema import SchemaCheck, check_schema
from replay.outcomes.registry import Registry, judge_registry
from replay.outcomes.rules import Rule, deciding_rule
from replay.records import (
    Answer,
    Call,
    Certainty,
    Evidence,
    Judgement,
    Outcome,
    Reason,
    RuleSpec,
    SchemaViolation,
    TextAnswer,
    Tool,
    ToolResult,
    texts_of,
)
from replay.safety.linear_regex import PatternError, compile_pattern
from replay.safety.text import cut, shortened

ARGUMENT_RULES: dict[str, tuple[str, str]] = {
    "arguments.schema": (
        "The arguments break the tool's inputSchema, and no recorded answer shows that the server took them.",
        '{"query": 5} for a query of type string',
    ),
    "arguments.withheld": ("The call was not re-issued, and nothing else tells how it went.", '{"path": "a.txt"}'),
    "arguments.no-answer": ("No server was asked, and no answer is recorded or stored.", '{"path": "a.txt"}'),
}
"""Rule id -> what it says, and an example."""

EVERY_SERVER = "*"
"""The key of rules that are tried on the answers of all servers."""

SCHEMA_NOT_CHECKED = "schema-not-checked"
"""Flag of a call whose arguments were not held against all of the tool's inputSchema."""

_OUTCOME_OF = {
    rule_cause: outcome
    for outcome, causes in {
        Outcome.INCONCLUSIVE: "rate-limited unauthorized network timeout outage environment crash own-output cancelled"
        " session-lost not-permitted hidden",
        Outcome.INVALID_ARGUMENTS: "validation policy malformed exists query-name invalid denied bad-address",
        Outcome.NOT_FOUND: "not-found missing",
        Outcome.UNKNOWN_TOOL: "tool-unknown",
    }.items()
    for rule_cause in causes.split()
}
"""What a cause says of the call, where nothing else is known."""

_MAX_EXCERPT_LENGTH = 240


class CallTarget(NamedTuple):
    """What a call's name was read as, and what its arguments break there."""

    server: str | None
    tool: str
    record: Tool | None = None
    """The tool, where its server is in the registry and lists it."""
    listed: bool = False
    """Whether the server lists the tool under the very name that the call writes, in the same case."""
    digest: str | None = None
    """Of its server's identity and tools/list; None where they are not known."""
    violations: tuple[SchemaViolation, ...] = ()
    schema_checked: bool = True
    """False where the schema, or a part of it, asks for more than is checked."""


class Classifier:
    """Judges the calls of one trajectory by what is known of the fleet, and by what earlier calls stored.

    Args:
        registry: the tools that exist.
        rules: the user's own rules, by server.
    """

    def __init__(self, registry: Registry, rules: Mapping[str, Sequence[RuleSpec]] | None = None) -> None:
        self._registry, self._rules = registry, rules or {}
        self._stored_texts: set[str] = set()

    def before_sending(self, call: Call, recorded: Judgement | None) -> Judgement | None:
        """Stages 1 and 2, for every call; None where neither decides.

        Args:
            call: as the model wrote it.
            recorded: what `recorded` said of the call's recorded answer.
        """
        return judge_format(call) or judge_registry(call, self._registry, recorded)

    def not_reissued(self, target: CallTarget, recorded: Judgement | None, *, offline: bool = False) -> Judgement:
        """Stages 3 and 4, for a call that is not re-issued: its arguments, then its recorded answer.

        Args:
            target: what the call's name was read as.
            recorded: what `recorded` said of the recorded answer.
            offline: no server could have been asked.
        """
        undecided = _no_answer if offline else _withheld
        judgement = judge_arguments(target.violations, recorded) or recorded or undecided(target.record)
        return _with_schema_finding(judgement, target)

    def answered(self, call: Call, target: CallTarget, answer: Answer, evidence: Evidence) -> Judgement:
        """Stage 4, for a call that was re-issued or whose answer is stored."""
        judgement = judge_answer(
            call,
            answer,
            evidence=evidence,
            tool=target.record,
            listed=target.listed,
            violations=target.violations,
            rules=(*self._rules.get(target.server or "", ()), *self._rules.get(EVERY_SERVER, ())),
            stored_texts=self._stored_texts,
        )
        return _with_schema_finding(judgement, target)

    def recorded(self, call: Call, target: CallTarget) -> Judgement | None:
        """What the recorded answer says, judged once a call and used by all stages; None without an answer."""
        return self.answered(call, target, call.answer, "recorded") if call.answer is not None else None

    def target(self, call: Call) -> CallTarget:
        """Read a call's name, and hold its arguments against the tool's schema."""
        if call.name is None or call.local:
            return CallTarget(None, call.name or "")
        server, tool = self._registry.read(call)
        if self._registry.server_names and server not in self._registry.server_names:
            return CallTarget(None, call.name)
        known = self._registry.servers.get(server or "")
        record = known.tool(tool) if known else None
        checked = check_schema(record, call.arguments) if record and call.arguments is not None else SchemaCheck()
        listed = record is not None and self._registry.writes_the_case_of(call)
        digest = known.digest if known else None
        return CallTarget(server, tool, record, listed, digest, checked.violations, checked.unchecked is None)

    def in_fleet(self, server: str | None) -> bool:
        """Whether the fleet has a server of that name."""
        return server in self._registry.server_names

    def is_read_only(self, server: str | None, tool: str | None) -> bool:
        """Whether a tool is annotated so."""
        known = self._registry.servers.get(server or "")
        record = known.tool(tool or "") if known else None
        return record is not None and record.read_only

    def remember(self, call: Call) -> None:
        """Note the texts that a successful call may have stored: read back, they are content."""
        self._stored_texts.update(_texts_in(call.arguments))


def _with_schema_finding(judgement: Judgement, target: CallTarget) -> Judgement:
    if target.schema_checked or SCHEMA_NOT_CHECKED in judgement.findings:
        return judgement
    return judgement.model_copy(update={"findings": (*judgement.findings, SCHEMA_NOT_CHECKED)})


def judge_arguments(violations: Sequence[SchemaViolation], recorded: Judgement | None) -> Judgement | None:
    """Judge the arguments of a call that is not re-issued; None where they do not decide.

    A schema violation decides, unless the recording shows that the server took it.

    Args:
        violations: how the arguments break the tool's inputSchema.
        recorded: what the recorded answer says, if there is one.
    """
    if not violations or (recorded is not None and recorded.outcome is Outcome.SUCCESS):
        return None
    return Judgement(
        outcome=Outcome.INVALID_ARGUMENTS,
        rule="arguments.schema",
        evidence="schema",
        certainty="certain" if recorded is not None else "likely",
        message=f"The arguments break the tool's inputSchema: {_describe(violations[0])}.",
        violations=tuple(violations),
    )


def judge_answer(
    call: Call,
    answer: Answer,
    *,
    evidence: Evidence,
    tool: Tool | None = None,
    listed: bool = True,
    violations: Sequence[SchemaViolation] = (),
    rules: Sequence[RuleSpec] = (),
    stored_texts: Collection[str] = (),
) -> Judgement:
    """Judge a call by its answer, live, stored or recorded.

    Args:
        call: the call that was answered; what it asked for tells errors from content.
        answer: any of the four kinds.
        evidence: where the answer comes from.
        tool: the tool's description where its tools/list is known.
        listed: whether that list has the tool under the very name that the call writes: then it cannot be unknown.
        violations: how the arguments break the tool's inputSchema.
        rules: the user's own rules for the call's server; they are tried first.
        stored_texts: whole texts that earlier calls of the trajectory stored. One that comes back is content, whatever
            it says.
    """
    by_user = _judge_by_user_rules(call, answer, evidence, rules)
    if by_user is not None:
        return by_user
    parsed = ParsedAnswer(call, answer, tool, violations, stored_texts, listed=listed)
    rule = deciding_rule(parsed)
    explained = rule.outcome is Outcome.INVALID_ARGUMENTS and bool(violations)
    return Judgement(
        outcome=rule.outcome,
        reason=rule.reason,
        rule=rule.id,
        evidence=evidence,
        certainty="certain" if explained else _certainty(rule, parsed),
        message=_message(rule, parsed, explained=explained),
        violations=tuple(violations),
        findings=_findings(rule, parsed),
        layers=parsed.layers,
    )


def _withheld(tool: Tool | None) -> Judgement:
    return Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.WITHHELD,
        rule="arguments.withheld",
        evidence="schema" if tool is not None else "registry",
        message="The call was not re-issued, and the recording holds no answer.",
    )


def _no_answer(tool: Tool | None) -> Judgement:
    return Judgement(
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.NO_ANSWER,
        rule="arguments.no-answer",
        evidence="schema" if tool is not None else "registry",
        message="The recording holds no answer, none is stored, and no server was asked.",
    )


def _judge_by_user_rules(call: Call, answer: Answer, evidence: Evidence, rules: Sequence[RuleSpec]) -> Judgement | None:
    rules = [rule for rule in rules if rule.tool is None or _is_tool(call, rule.tool)]
    if not rules:
        return None
    texts = list(texts_of(answer))
    if isinstance(answer, ToolResult | TextAnswer):
        texts += open_answer(answer).pieces
    text = bounded("\n".join(dict.fromkeys(texts)))
    for rule in rules:
        try:
            found = compile_pattern(rule.pattern).search(text)
        except PatternError:  # the fleet file is refused for it; rules from elsewhere find nothing
            continue
        if found is not None:
            message = rule.sentence or _excerpt(found)
            return Judgement(outcome=rule.outcome, reason=rule.reason, rule=rule.id, evidence=evidence, message=message)
    return None


def _is_tool(call: Call, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (call.name, call.tool) if name)


def _certainty(rule: Rule, parsed: ParsedAnswer) -> Certainty:
    """How sure a verdict is: certain by a flag, a code, a schema or a typed envelope; likely by words alone.

    A failure is certain where the answer is marked as one, and its codes, or all causes that its words name, say the
    same of the call.
    """
    error = parsed.error
    if rule.provided is not None and not rule.provided(parsed):
        return rule.otherwise
    if error is None or rule.certainty != "certain":
        return rule.certainty
    printed = error.basis == "prefix" and runs_commands(parsed.arguments) and not rule.id.startswith("harness.")
    if printed or error.basis in ("sentence", "exit"):
        return "likely"
    outcomes = {_OUTCOME_OF[cause] for cause in (*parsed.said, *parsed.coded) if cause in _OUTCOME_OF}
    coded = {_OUTCOME_OF[cause] for cause in parsed.coded if cause in _OUTCOME_OF}
    if rule.outcome is Outcome.UNKNOWN_TOOL:
        outcomes.discard(Outcome.NOT_FOUND)  # a tool that is not found is a thing that is not found
    return "certain" if outcomes == {rule.outcome} or coded == {rule.outcome} else "likely"


def _message(rule: Rule, parsed: ParsedAnswer, *, explained: bool) -> str:
    report = parsed.fault.message if parsed.fault else program_words(parsed.error.text) if parsed.error else ""
    message = f"{rule.sentence.rstrip('.')}: {_excerpt(report)}" if report.strip() else rule.sentence
    return f"{message} [{_describe(parsed.violations[0])}]" if explained else message


def _findings(rule: Rule, parsed: ParsedAnswer) -> tuple[str, ...]:
    program = parsed.program_exit
    printed = program is not None and bool(program.output.strip())
    refused = rule.id in ("answer.arguments-invalid", "answer.explained-by-schema")
    found = {
        "empty": rule.id == "success.empty" or (rule.id == "success.program" and not printed),
        "partial": bool(parsed.partial),
        "accepted-though-invalid": rule.outcome is Outcome.SUCCESS and bool(parsed.violations),
        "refused-though-valid": refused and parsed.tool is not None and not parsed.violations,
    }
    return tuple(name for name, holds in found.items() if holds)


def _describe(violation: SchemaViolation) -> str:
    """A violation with its place, in words."""
    return f"{violation.message} (at {violation.pointer})" if violation.pointer else violation.message


def _excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    return shortened(" ".join(cut(text, _MAX_EXCERPT_LENGTH * 4).split()), _MAX_EXCERPT_LENGTH)


def _texts_in(value: Any) -> Iterator[str]:
    """Strings of more than one word. A bare path that comes back is not content."""
    if isinstance(value, str):
        if len(value.split(maxsplit=1)) > 1:
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)
