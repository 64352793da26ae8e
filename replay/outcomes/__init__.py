"""The ladder: call format, registry, arguments, answer. Pure functions of records."""

from replay.outcomes.answers import judge_answer, judge_unsent
from replay.outcomes.arguments import schema_violations
from replay.outcomes.call_format import judge_format
from replay.outcomes.names import ToolName, read_name
from replay.outcomes.page import rules_markdown
from replay.outcomes.registry import Registry, judge_registry
from replay.outcomes.rules import RULES

__all__ = [
    "RULES",
    "Registry",
    "ToolName",
    "judge_answer",
    "judge_format",
    "judge_registry",
    "judge_unsent",
    "read_name",
    "rules_markdown",
    "schema_violations",
]
