"""A survey of recorded answers: those that rest on nothing, and those that something else contradicts, by template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from replay.analysis.answer_labels import label_id
from replay.errors import ReplayError
from replay.formats import FileNames, open_file
from replay.outcomes import Classifier, Registry
from replay.outcomes.second_look import second_look, template_of, testimony_of
from replay.records import Call, Judgement, Outcome, RuleSpec, ToolResult, Trajectory, texts_of

KINDS: Final[dict[str, str]] = {
    "rests-on-nothing": "Nothing in the answer, the tool's other answers or the model's next words says how it went.",
    "words-of-failure": "The call is a success, and its short answer holds words of failure.",
    "flag-contradicted": "The verdict and the flag isError say opposite things.",
    "model-disagrees": "The call is a success, and the model's next words say that it failed.",
}
_FAILURE: Final = re.compile(r"\b(?:error|fail(?:ed|ure)?|exception|invalid|denied|not found|cannot|unable)\b", re.I)
_MAX_SHORT: Final = 400
_MAX_EXAMPLE: Final = 200
_MAX_CLUSTERS: Final = 100_000
_MAX_READ: Final = 4_000


@dataclass
class Cluster:
    """Answers of one tool that read alike."""

    kind: str
    tool: str
    template: str
    example: str
    rule: str
    answers: int = 0

    @property
    def id(self) -> str:
        """By which it is labelled."""
        return label_id(self.tool, self.template)


@dataclass
class Survey:
    """What was found in a set of files."""

    files: int = 0
    unreadable: int = 0
    answers: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    by_certainty: dict[str, int] = field(default_factory=dict)
    clusters: dict[tuple[str, str, str], Cluster] = field(default_factory=dict)

    def largest(self, count: int, kind: str | None = None) -> list[Cluster]:
        """The clusters of the most answers, of one kind or of all."""
        found = [cluster for cluster in self.clusters.values() if kind in (None, cluster.kind)]
        return sorted(found, key=lambda cluster: (-cluster.answers, cluster.kind, cluster.tool, cluster.template))[
            :count
        ]


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """The files themselves, and those in folders that may hold trajectories, in a fixed order."""
    for path in paths:
        if path.is_dir():
            names = ("*.json", "*.jsonl", "*.ndjson", "*.gz", "*.eval")
            yield from sorted(file for pattern in names for file in path.rglob(pattern) if file.is_file())
        else:
            yield path


def survey(paths: Iterable[Path], rules: Sequence[RuleSpec] = ()) -> Survey:
    """Judge every recorded answer in files and folders by the answer alone, and cluster what is doubtful.

    Args:
        paths: files or folders; a file that no reader knows is counted and passed over.
        rules: what is known of answers, as rules for every server.
    """
    found = Survey()
    classifier = Classifier(Registry(), {"*": rules})
    for path in files_below(paths):
        try:
            for trajectory in open_file(path, FileNames()).trajectories():
                _add(found, trajectory, classifier)
        except (ReplayError, OSError):
            found.unreadable += 1
        else:
            found.files += 1
    return found


def _add(found: Survey, trajectory: Trajectory, classifier: Classifier) -> None:
    judgements: dict[str, Judgement] = {}
    for call in trajectory.calls():
        if call.answer is not None:
            recorded = classifier.recorded(call, classifier.target(call))
            if recorded is not None:
                judgements[call.position] = recorded
    judgements.update(second_look(trajectory, judgements))
    disagreeing = _disagreeing(trajectory, judgements)
    for call in trajectory.calls():
        judgement = judgements.get(call.position)
        if judgement is not None:
            found.answers += 1
            found.by_certainty[judgement.certainty] = found.by_certainty.get(judgement.certainty, 0) + 1
            text = "\n".join(texts_of(call.answer))[:_MAX_READ] if call.answer is not None else ""
            for kind in _kinds(call, judgement, text, call.position in disagreeing):
                _count(found, kind, call, judgement, text)


def _kinds(call: Call, judgement: Judgement, text: str, disagreed: bool) -> Iterator[str]:
    success = judgement.outcome is Outcome.SUCCESS
    if judgement.certainty == "fallback":
        yield "rests-on-nothing"
    if success and len(text) <= _MAX_SHORT and _FAILURE.search(text):
        yield "words-of-failure"
    if isinstance(call.answer, ToolResult) and call.answer.is_error is success:
        yield "flag-contradicted"
    if success and disagreed:
        yield "model-disagrees"


def _disagreeing(trajectory: Trajectory, judgements: Mapping[str, Judgement]) -> set[str]:
    positions: set[str] = set()
    for step, following in zip(trajectory.steps, (*trajectory.steps[1:], None), strict=False):
        testimony = testimony_of(trajectory, step, following)
        if testimony is not None and testimony.failed:
            positions.update(call.position for call in step.calls)
    return positions & set(judgements)


def _count(found: Survey, kind: str, call: Call, judgement: Judgement, text: str) -> None:
    found.counts[kind] += 1
    key = (kind, call.name or "", template_of(text))
    if key in found.clusters or len(found.clusters) < _MAX_CLUSTERS:
        cluster = found.clusters.setdefault(key, Cluster(*key, example=text[:_MAX_EXAMPLE], rule=judgement.rule))
        cluster.answers += 1
