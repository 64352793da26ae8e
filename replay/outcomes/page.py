"""The page that explains every rule."""

from __future__ import annotations

from collections.abc import Mapping

from replay.outcomes.answers import ARGUMENT_RULES
from replay.outcomes.call_format import FORMAT_RULES
from replay.outcomes.registry import REGISTRY_RULES
from replay.outcomes.rule import Rule
from replay.outcomes.rules import RULES
from replay.records import TransportFault

_INTRODUCTION = """# The rules

Every verdict names the rule that gave it. The rungs are climbed in this order, and the first that decides, decides:
the form of the call, the registry, the arguments, the answer. Rules that `servers.yaml` gives for a server are tried
before the answer rules.

This page is generated from the rules themselves.
"""


def rules_markdown() -> str:
    """The text of docs/rules.md: each rule's id, what it says, and an example."""
    parts = [
        _INTRODUCTION,
        _section(
            "1. The form of the call", "`illegal_format`, evidence `format`.", FORMAT_RULES, "What the model wrote"
        ),
        _section("2. The registry", "`unknown_tool` or `inconclusive`, evidence `registry`.", REGISTRY_RULES, "Name"),
        _section("3. The arguments", "A call that is not re-issued, evidence `schema`.", ARGUMENT_RULES, "Arguments"),
        "## 4. The answer\n\nIn this order; evidence `replay`, `stored` or `recorded`.\n",
        *map(_answer_rule, RULES),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _section(title: str, lead: str, rules: Mapping[str, tuple[str, str]], example: str) -> str:
    rows = [f"- `{name}` {sentence} {example}: {_code(text)}" for name, (sentence, text) in rules.items()]
    return f"## {title}\n\n{lead}\n\n" + "\n".join(rows) + "\n"


def _answer_rule(rule: Rule) -> str:
    outcome = f"`{rule.outcome}`" + (f" ({rule.reason})" if rule.reason else "")
    answer = rule.example.answer
    text = f"{answer.fault}: {answer.message}" if isinstance(answer, TransportFault) else answer
    return (
        f"### {rule.id}\n\n{rule.sentence} Outcome: {outcome}; certainty: {rule.certainty}.\n\n```text\n{text}\n```\n"
    )


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"
