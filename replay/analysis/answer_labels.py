"""`replay-labels.yaml`: what answers mean that rest on nothing, said once by a person; a file that can be shared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from replay.errors import InputError
from replay.records import Outcome, Reason, Record, RuleSpec
from replay.safety.filesystem import read_small_file, write_atomically

if TYPE_CHECKING:
    from replay.interpreter import Fleet

NAME: Final = "replay-labels.yaml"
FORMAT: Final = "replay.labels"
_MAX_BYTES: Final = 5_000_000
_MAX_WORDS: Final = 60


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
    return rules_of_labels(read_labels(beside if beside.exists() else Path(NAME)))


def rules_of_labels(labels: Iterable[AnswerLabel]) -> tuple[RuleSpec, ...]:
    """The labels as rules, to be tried on the answers of every server."""
    return tuple(label.rule() for label in labels)


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
