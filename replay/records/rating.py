"""What a model that was asked to judge gave a task run, and what follows from many of them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from replay.records.base import Record

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
