"""Judge files in each shape, and with each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.alignment.judges import read_judges, with_nothing_given
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
    ("raw", "mean"),
    [
        ([0.0, 0.4, 0.6, 1.0], 0.5),
        ({"gpt": 0.0, "gemini": 0.4, "deepseek": 0.6, "grok": 1.0}, 0.5),
        ([0.0, 0.5, 1.0], 0.5),
        ([0.7], 0.7),
    ],
)
def test_raw_scores_of_a_task_are_trimmed_as_the_paper_says(tmp_path: Path, raw: Any, mean: float) -> None:
    judges = read_judges([_file(tmp_path, {"m": {"t1": {"completion_rate": raw}}})], ["m"])
    scores = judges.of_task(["m"], "t1")
    assert scores is not None
    assert scores.completion_rate == pytest.approx(mean)


def test_a_missing_prediction_counts_as_nothing_found() -> None:
    judge = JudgeScores(completion_rate=0.8, information_grounding_rate=None)
    whole = with_nothing_given(judge, 3, 1)
    assert whole is not None
    assert (round(whole.completion_rate or 0, 9), whole.information_grounding_rate) == (0.6, None)
    assert with_nothing_given(judge, 3, 0) is judge
    assert with_nothing_given(None, 3, 1) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"completion_rate": []}, "no score in it"),
        ({"completion_rate": [0.5, 2]}, "from 0 to 1"),
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
