"""The average score: a plain mean of the table's columns."""

from __future__ import annotations

from collections.abc import Sequence

from replay.records.alignment import COLUMNS, JudgeScores, Scores


def overall_average(scores: Scores, judge: JudgeScores | None = None) -> float:
    """As in the paper's overall table: the six columns and information grounding, without task completion.

    Where no judge gave grounding, the mean of the six.
    """
    return _mean([*_columns(scores), judge.information_grounding_rate if judge else None])


def task_average(scores: Scores, judge: JudgeScores | None = None) -> float:
    """As in the paper's per-task tables: the six columns, task completion and information grounding, all eight.

    What no judge gave is left out.
    """
    given = [judge.completion_rate, judge.information_grounding_rate] if judge else []
    return _mean([*_columns(scores), *given])


def overall_columns(judge: JudgeScores | None) -> int:
    """Over how many columns the overall average is."""
    return len(COLUMNS) + (judge is not None and judge.information_grounding_rate is not None)


def task_columns(judge: JudgeScores | None) -> int:
    """Over how many columns the average of a task, or a task type, is."""
    given = (judge.completion_rate, judge.information_grounding_rate) if judge else ()
    return len(COLUMNS) + sum(value is not None for value in given)


def _columns(scores: Scores) -> list[float | None]:
    return [getattr(scores, name) for name in COLUMNS]


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)
