"""The classification of calls, by their format, the registry, their arguments and their answers.

Read `stages.py` first. All of it are functions of records; nothing is started, read or written.
"""

from replay.outcomes.call_format import judge_format
from replay.outcomes.registry import Registry, judge_registry
from replay.outcomes.rules import answer_rules
from replay.outcomes.stages import CallTarget, Classifier, judge_answer, judge_arguments
from replay.records.tool_name import ToolName, read_name

__all__ = [
    "CallTarget",
    "Classifier",
    "Registry",
    "ToolName",
    "answer_rules",
    "judge_answer",
    "judge_arguments",
    "judge_format",
    "judge_registry",
    "read_name",
]
