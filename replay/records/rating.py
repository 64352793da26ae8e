"""What judges gave task runs: ours when they are asked, and those whose scores a results file holds.

Recorded scores are put on [0, 1]: MCP-Bench's judge gives 1 to 10. What the file does not hold is not known, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from replay.records.base import JsonObject, Record

Protocol: TypeAlias = Literal["m3", "mcpbench", "mcpeval"]
"""Whose rubric: M3-Bench's, MCP-Bench's or MCPEval's."""
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)


class RatingKey(Record):
    """What is asked once: a judge, about one task run, by one prompt, in one order of its criteria."""

    file: str
    """Absolute path of the results file."""
    trajectory: str
    protocol: Protocol
    prompt: str
    """Name and version of our own prompt: `m3-completion/1`."""
    judge: str
    """Its name in the file of judges."""
    shuffle: int = 0
    """Seed of the order of the criteria; 0 is the prompt's own."""


class Rating(RatingKey):
    """One reply of a judge, with all that it rests on."""

    model: str
    """Whose trajectory it is."""
    judge_model: str
    digest: str
    """SHA-256 of the prompt as it was sent."""
    prompt_text: str
    reply: str
    scores: dict[str, float] | None = None
    """By dimension, on the prompt's own scale; None where the reply could not be read."""
    problem: str | None = None
    """Why it could not be read, twice."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0
    asked_at: str
    """UTC, ISO 8601."""


class RatedMeasure(Record):
    """One column of judges: its mean over the task runs that have it, in [0, 1]."""

    name: str
    mean: float
    deviation: float | None = None
    """Of a sample; None where fewer than two task runs have it."""
    task_runs: int


class RatedModel(Record):
    """What the judges gave one model."""

    model: str
    measures: tuple[RatedMeasure, ...]
    judgements: int
    missing: int
    """Replies that were asked for and are not there, or could not be read."""
    gap: float | None = None
    """MCPEval: mean of trajectory less mean of completion."""
    correlation: float | None = None
    """MCPEval: Pearson's, of the two over the task runs."""


class JudgeAgreement(Record):
    """How far two judges agree, over what both rated."""

    first: str
    second: str
    judgements: int
    spearman: float | None = None
    """None where one of them gave the same score to all."""
    mean_difference: float
    """Mean absolute difference, in [0, 1]."""


class Contradiction(Record):
    """A score that the deterministic verdicts speak against."""

    model: str
    trajectory: str
    judge: str
    measure: str
    score: float
    """In [0, 1]."""
    why: str


class JudgeReport(Record):
    """What `replay judge --json` prints."""

    format: Literal["replay.judges"] = "replay.judges"
    version: Literal[1] = 1
    protocol: Protocol
    prompts: tuple[str, ...]
    """Own prompts, name and version."""
    judges: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know of the numbers."""
    models: tuple[RatedModel, ...]
    agreement: tuple[JudgeAgreement, ...] = ()
    coefficient_of_variation: float | None = None
    """Among judges, of task completion: population deviation over mean, mean over task runs (MCP-Bench, A.8)."""
    contradictions: tuple[Contradiction, ...] = ()


MCPBENCH: Final = "mcp-bench"
MCPEVAL: Final = "mcpeval"
"""The formats whose files hold scores, by the names of their readers."""
_RATES: Final = ("valid_tool_name_rate", "input_schema_compliance", "execution_success_rate")


class RecordedScore(NamedTuple):
    """One score of a results file."""

    format: str
    label: str
    """At the head of a column."""
    about: str
    field: str | None = None
    """Under which name it stands among the file's own figures of the task; None where it stands nowhere."""
    section: str | None = None
    """The object of these figures in which it stands; None where it stands among them."""
    most: float = 1.0
    """The upper end of the file's scale."""
    mean_of: tuple[str, ...] = ()
    """The scores that it is the mean of, where the file does not give it."""


def _mcpbench() -> Iterator[tuple[str, RecordedScore]]:
    def score(what: str, field: str | None, most: float = 10.0, mean_of: Iterable[str] = ()) -> RecordedScore:
        about = f"MCP-Bench's {what}, as the file records it, on a scale from 0 to 1."
        parts = tuple(f"mcpbench_{name}" for name in mean_of)
        return RecordedScore(MCPBENCH, f"MCP-Bench {what}", about, field, most=most, mean_of=parts)

    axes = {
        "task_completion": ("task_completion_score", ("task_fulfillment", "grounding")),
        "tool_usage": ("tool_selection_score", ("tool_appropriateness", "parameter_accuracy")),
        "planning_effectiveness": (
            "planning_effectiveness_and_efficiency_score",
            ("dependency_awareness", "parallelism_and_efficiency"),
        ),
    }
    for _, dimensions in axes.values():
        for name in dimensions:
            yield name, score(name.replace("_", " "), name)
    for name, (field, dimensions) in axes.items():
        yield name, score(name.replace("_", " "), field, mean_of=dimensions)
    for name in _RATES:
        yield name, score(name.replace("_", " "), name, most=1.0)
    yield "rates", score("mean of the three rates", None, mean_of=_RATES)
    yield "overall", score("overall score", None, mean_of=("rates", *axes))


def _mcpeval() -> Iterator[tuple[str, RecordedScore]]:
    sections = {
        "trajectory": (
            *("planning", "execution_flow", "tool_selection", "tool_usage"),
            *("adaptability", "efficiency", "context_awareness"),
        ),
        "completion": ("requirement_coverage", "accuracy", "completeness", "usefulness"),
    }
    for section, dimensions in sections.items():
        for name in dimensions:
            what = name.replace("_", " ")
            about = f"MCPEval's {what}, one of its scores of the {section}, as the file records it."
            yield name, RecordedScore(MCPEVAL, f"MCPEval {what}", about, name, f"{section}_scores")
    for section, dimensions in sections.items():
        about = f"MCPEval's score of the {section}, as the file records it."
        parts = tuple(f"mcpeval_{name}" for name in dimensions)
        yield section, RecordedScore(MCPEVAL, f"MCPEval {section}", about, f"{section}_score", mean_of=parts)


RECORDED_SCORES: Final[Mapping[str, RecordedScore]] = {
    **{f"mcpbench_{name}": score for name, score in _mcpbench()},
    **{f"mcpeval_{name}": score for name, score in _mcpeval()},
}
"""By id, in the order of the columns; what is a mean of others stands behind them."""
GAP: Final = ("mcpeval_trajectory", "mcpeval_completion")
"""The two scores whose gap and correlation MCPEval shows."""
SUMMED_UP: Final = ("mcpbench_overall", *GAP)
"""What all the others come to."""


def recorded_scores(format_name: str, figures: JsonObject | None) -> dict[str, float]:
    """The scores that a file holds of one task run, by the ids of `RECORDED_SCORES`.

    Args:
        format_name: of the file.
        figures: of the task run, by the file's own names.
    """
    found: dict[str, float] = {}
    for name, score in RECORDED_SCORES.items():
        if score.format != format_name:
            continue
        value = _given(score, figures or {})
        if value is None and score.mean_of and found.keys() >= set(score.mean_of):
            value = fmean(found[part] for part in score.mean_of)
        if value is not None:
            found[name] = value
    return found


def _given(score: RecordedScore, figures: Mapping[str, Any]) -> float | None:
    """What the file gives; None where it gives nothing on the scale."""
    section = figures.get(score.section) if score.section else figures
    value = section.get(score.field) if score.field and isinstance(section, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return value / score.most if 0 <= value <= score.most else None
