"""Judge files in each shape, and with each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.alignment.judges import read_judges
from replay.errors import InputError
from replay.records.alignment import JudgeScores

HALF = {"completion_rate": 0.5, "information_grounding_rate": 0.25}
SCORES = JudgeScores(**HALF)


def _file(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "judge.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.mark.parametrize("value", [HALF, {"m": HALF}, {"t1": HALF}, {"m": {"t1": HALF}}, [{"id": "t1", **HALF}]])
def test_shapes(tmp_path: Path, value: Any) -> None:
    judges = read_judges([_file(tmp_path, value)], ["m", "f.json"])
    assert judges.of_model(["m", "f.json"], ["t1"]) == SCORES


def test_the_mean_over_tasks_leaves_out_what_was_not_judged(tmp_path: Path) -> None:
    value = {"m": {"t1": {"completion_rate": 1}, "t2": {"completion_rate": 0, "information_grounding_rate": 0.5}}}
    judges = read_judges([_file(tmp_path, value)], ["m"])
    expected = JudgeScores(completion_rate=0.5, information_grounding_rate=0.5)
    assert judges.of_model(["m"], ["t1", "t2", "t3"]) == expected
    assert judges.of_model(["other"], ["t1"]) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "broken JSON"),
        ("[]", "expected"),
        ({"m": 1}, "$.m"),
        ({"m": {"t": 1}}, "$.m.t"),
        ({"completion_rate": 1.5}, "from 0 to 1"),
        ({"m": {"completion_rate": "high"}}, "from 0 to 1"),
        ('{"completion_rate": NaN}', "from 0 to 1"),
    ],
)
def test_mistakes(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_judges([_file(tmp_path, value)], ["m"])
    assert said in str(caught.value)
    assert "judge.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_judges([tmp_path / "none.json"], [])
