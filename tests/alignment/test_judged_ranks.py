"""What a judge gave for some models only is not averaged and ranked as if all had it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .builders import record
from .test_verb import CALL, REFERENCE, Align


@pytest.fixture
def align(tmp_path: Path) -> Align:
    return Align(tmp_path, tmp_path / "cache")


def judged(align: Align, **scores: float) -> str:
    given = {name: {"information_grounding_rate": value} for name, value in scores.items()}
    (align.place / "judge.json").write_text(json.dumps(given))
    return "judge.json"


def test_models_with_and_without_judge_columns_are_ranked_apart(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    files = [align.write("whole.json", REFERENCE), align.write("part.json", record("t1", [[CALL]]))]
    done = align(*files, "--reference", reference, "--judge", judged(align, part=0.1), check=True)
    table = "\n" + done.stdout.split("\n\n")[-1]
    head = next(line for line in table.splitlines() if line.startswith("model") and "average" in line)
    assert "over" in head.split()
    part = next(line.split() for line in table.splitlines() if line.startswith("part  "))
    whole = next(line.split() for line in table.splitlines() if line.startswith("whole  "))
    assert table.index("\npart ") < table.index("\nwhole "), "ranked apart, though its average is the lower one"
    assert (part[-3], whole[-3]) == ("7", "6")
    assert "rows over different ones are ranked apart" in done.stdout


def test_where_all_have_them_the_best_is_first_and_nothing_else_is_said(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    files = [align.write("part.json", record("t1", [[CALL]])), align.write("whole.json", REFERENCE)]
    done = align(*files, "--reference", reference, "--judge", judged(align, part=0.1, whole=0.2), check=True)
    assert "ranked apart" not in done.stdout
    assert "average: the mean of the six columns and grounding" in done.stdout
    board = done.stdout.split("\n\n")[-1]
    assert board.index("\nwhole ") < board.index("\npart ")


def test_scores_of_a_model_that_is_not_there_are_told(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    done = align(align.write("whole.json", REFERENCE), "--reference", reference, "--judge", judged(align, whoel=0.1))
    assert "--judge: whoel is neither a model nor a task of these files; nearest: whole" in done.stderr


def test_the_leaderboard_is_the_last_thing_on_the_screen_and_types_come_on_request(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    words = (align.write("whole.json", REFERENCE), "--reference", reference)
    plain, typed = align(*words, check=True).stdout, align(*words, "--types", check=True).stdout
    for shown in (plain, typed):
        assert "average" in shown.split("\n\n")[-1].splitlines()[0]
    assert "by task type" not in plain
    assert "by task type" in typed
