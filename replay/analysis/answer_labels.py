"""What answers mean that rest on nothing: a survey of them by template, and `replay-labels.yaml`, where it is said."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from replay.errors import InputError, ReplayError
from replay.formats import FileNames, open_file
from replay.outcomes import Classifier, Registry
from replay.outcomes.second_look import second_look, template_of, testimony_of
from replay.records import Call, Judgement, Outcome, Reason, Record, RuleSpec, ToolResult, Trajectory, texts_of
from replay.safety.filesystem import read_small_file, write_atomically

if TYPE_CHECKING:
    from replay.interpreter import Fleet

NAME: Final = "replay-labels.yaml"
FORMAT: Final = "replay.labels"
_MAX_BYTES: Final = 5_000_000
_MAX_WORDS: Final = 60
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


class AnswerLabel(Record):
    """What one template of a tool's answers means."""

    tool: str
    """Glob on the tool's name as it is written in calls."""
    template: str
    """Its words; `*` stands for numbers, ids, names and paths."""
    outcome: Outcome
    reason: Reason | None = None
    """Of an inconclusive call."""
    note: str = ""

    def rule(self) -> RuleSpec:
        """The label as a rule for answers."""
        return RuleSpec(
            id=f"label.{label_id(self.tool, self.template)}",
            tool=self.tool,
            pattern=template_pattern(self.template),
            outcome=self.outcome,
            reason=self.reason,
            sentence=self.note or f"A person labelled answers that read like this: {self.template[:160]}",
        )


def label_id(tool: str, template: str) -> str:
    """A short name of a template of a tool, the same everywhere."""
    return hashlib.sha256(f"{tool}\n{template}".encode()).hexdigest()[:10]


def template_pattern(template: str) -> str:
    """A linear expression that matches the answers of a template, and few others."""
    words = template.split()
    parts = [".*" if word == "*" else re.escape(word) for word in words[:_MAX_WORDS]]
    end = r"\W*$" if len(words) <= _MAX_WORDS else ""
    return r"(?is)^\W*" + r"[^\pL]*".join(parts) + end


def read_labels(path: Path | None) -> tuple[AnswerLabel, ...]:
    """The labels of a file; none where there is no file.

    Raises:
        InputError: it cannot be read, is not what it should be, or contradicts itself.
    """
    if path is None or not path.exists():
        return ()
    try:
        data = yaml.safe_load(read_small_file(path, _MAX_BYTES).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(str(path), f"cannot be read: {problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise InputError(str(path), f"is not YAML: {problem}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("labels"), list):
        raise InputError(str(path), f"is not a file of labels: expected format: {FORMAT}, and a list of labels")
    return _checked(path, data["labels"])


def write_label(path: Path, label: AnswerLabel) -> None:
    """Add a label to a file, which is made where there is none; one of the same template gives way."""
    kept = [one for one in read_labels(path) if (one.tool, one.template) != (label.tool, label.template)]
    rows = [one.model_dump(mode="json", exclude_defaults=True) for one in (*kept, label)]
    document = {"format": FORMAT, "version": 1, "labels": rows}
    write_atomically(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120))


def known_labels(fleet: Fleet | None) -> tuple[RuleSpec, ...]:
    """What a person said that answers mean, as rules: of the file beside the fleet's, else of the one here.

    Raises:
        InputError: as `read_labels`.
    """
    beside = fleet.directory / NAME if fleet is not None else Path(NAME)
    return tuple(label.rule() for label in read_labels(beside if beside.exists() else Path(NAME)))


def _checked(path: Path, rows: list[Any]) -> tuple[AnswerLabel, ...]:
    labels: dict[tuple[str, str], AnswerLabel] = {}
    for number, row in enumerate(rows, 1):
        try:
            label = AnswerLabel.model_validate(row)
        except ValidationError as problem:
            first = problem.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InputError(str(path), f"label {number}: {place}: {first['msg']}") from None
        if (label.outcome is Outcome.INCONCLUSIVE) != (label.reason is not None):
            raise InputError(str(path), f"label {number}: a reason goes with the outcome inconclusive, and no other")
        other = labels.setdefault((label.tool, label.template), label)
        if (other.outcome, other.reason) != (label.outcome, label.reason):
            says = f"{other.outcome} and {label.outcome}"
            raise InputError(str(path), f"label {number}: the same template of {label.tool} is labelled {says}")
    return tuple(labels.values())


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
    judgements = {
        call.position: recorded
        for call in trajectory.calls()
        if call.answer is not None and (recorded := classifier.recorded(call, classifier.target(call))) is not None
    }
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
