"""Scores that a judge gave elsewhere, read from a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from replay.errors import InputError
from replay.records.alignment import JudgeScores
from replay.safety.filesystem import read_small_file

_FIELDS = ("completion_rate", "information_grounding_rate")
_SHAPES = (
    'expected {"completion_rate": 0.5, "information_grounding_rate": 0.5}, or such objects by model, by id, '
    "or by model and then id"
)


@dataclass
class Judges:
    """What the files give, by model and id; "" stands for every model, and for the model as a whole."""

    scores: dict[tuple[str, str], JudgeScores] = field(default_factory=dict)

    def of_model(self, names: Sequence[str], ids: Iterable[str]) -> JudgeScores | None:
        """A model's scores: what was given for it as a whole, else the mean over its tasks.

        Args:
            names: what the model may be called in the file, best first.
            ids: of its tasks.
        """
        return self.of_task(names, "") or self.mean(names, ids)

    def of_task(self, names: Sequence[str], identifier: str) -> JudgeScores | None:
        """The scores of one task."""
        return next((self.scores[key] for name in (*names, "") if (key := (name, identifier)) in self.scores), None)

    def mean(self, names: Sequence[str], ids: Iterable[str]) -> JudgeScores | None:
        """The mean over tasks, of each score over those that have it."""
        found = [scores for scores in (self.of_task(names, identifier) for identifier in ids) if scores]
        given = {name: [value for judge in found if (value := getattr(judge, name)) is not None] for name in _FIELDS}
        return (
            JudgeScores(**{name: sum(values) / len(values) if values else None for name, values in given.items()})
            if found
            else None
        )

    def unknown(self, names: Iterable[str], ids: Iterable[str]) -> tuple[str, ...]:
        """What scores were given for that is neither a model nor a task here."""
        known_names, known_ids = set(names), set(ids)
        strangers = (
            name if name and name not in known_names else identifier if identifier not in known_ids else ""
            for name, identifier in self.scores
            if name or identifier
        )
        return tuple(dict.fromkeys(stranger for stranger in strangers if stranger))


_MAX_BYTES: Final = 64_000_000

TRIMMED_FROM: Final = 4
"""So many raw scores of a task there must be for the smallest and the largest to be dropped."""


def trimmed_mean(scores: Sequence[float]) -> float:
    """The mean without the smallest and the largest, where there are four or more; equation 7 of M3-Bench."""
    return fmean(sorted(scores)[1:-1] if len(scores) >= TRIMMED_FROM else scores)


def with_nothing_given(judge: JudgeScores | None, tasks: int, missing: int) -> JudgeScores | None:
    """A model's scores where each missing prediction counts as nothing found.

    Args:
        judge: the means over the tasks that it predicted.
        tasks: how many these are.
        missing: how many it did not predict.
    """
    if judge is None or not missing:
        return judge
    share = tasks / (tasks + missing)
    return JudgeScores(**{name: score and score * share for name, score in judge if name in _FIELDS})


def read_judges(paths: Iterable[Path], models: Iterable[str]) -> Judges:
    """Read judge files; a later one replaces what an earlier one gives.

    Args:
        paths: JSON files.
        models: the names under which scores of a model, and not of a task, may stand.

    Raises:
        InputError: a file that is not JSON, or of another shape.
    """
    judges, known = Judges(), set(models)
    for path in paths:
        _read(_load(path), judges, known, path)
    return judges


def _load(path: Path) -> Any:
    try:
        return json.loads(read_small_file(path, _MAX_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "not UTF-8 text") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(str(path), f"broken JSON: {error.msg}", place) from None


def _read(value: Any, judges: Judges, models: set[str], path: Path) -> None:
    if isinstance(value, list):
        value = {str(item.get("id", "")): item for item in value if isinstance(item, dict)}
    if not isinstance(value, dict) or not value:
        raise InputError(str(path), _SHAPES)
    if _is_scores(value):
        judges.scores["", ""] = _scores(value, path, "$")
        return
    for key, inner in value.items():
        if not isinstance(inner, dict):
            raise InputError(str(path), _SHAPES, f"$.{key}")
        if _is_scores(inner):
            judges.scores[(key, "") if key in models else ("", key)] = _scores(inner, path, f"$.{key}")
            continue
        for identifier, scores in inner.items():
            if not isinstance(scores, dict) or not _is_scores(scores):
                raise InputError(str(path), _SHAPES, f"$.{key}.{identifier}")
            judges.scores[key, identifier] = _scores(scores, path, f"$.{key}.{identifier}")


def _is_scores(value: Mapping[str, Any]) -> bool:
    return any(name in value for name in _FIELDS)


def _scores(value: Mapping[str, Any], path: Path, place: str) -> JudgeScores:
    return JudgeScores(**{name: _share(value.get(name), name, path, place) for name in _FIELDS})


def _share(value: Any, name: str, path: Path, place: str) -> float | None:
    """A score, or what the raw scores of several judges come to: a list of them, or an object by judge."""
    raw = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if value is None:
        return None
    for number in raw:
        if not _is_share(number):
            raise InputError(str(path), f"{name} must be a number from 0 to 1, found {json.dumps(number)[:40]}", place)
    if not raw:
        raise InputError(str(path), f"{name} has no score in it", place)
    return trimmed_mean(raw)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
