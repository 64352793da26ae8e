"""What became of each call, and why; ids, missing and extra; the sweep; the explanation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from replay.alignment.aligner import VALUES, AlignmentSettings, Results, align_model, signatures_to_embed, sweep
from replay.alignment.judges import Judges
from replay.alignment.tables import by_type, calls_table, differing_ids, explain, leaderboard_text
from replay.alignment.tasks import Reference, pair_ids
from replay.records import Outcome
from replay.records.alignment import AlignedCall, CallClass, JudgeScores

from .builders import SignedTask, task, vectors

NEAR, FAR = {"x": "near"}, {"x": "far"}
REFERENCE = task([[("t", {"x": "ref"}), ("other", {})]], "t1", "kind")
PREDICTED = task([[("t", NEAR), ("t", FAR)], [("t", {"x": "ref"}), ("made/up", {})]], "t1")


def directions() -> dict[str, np.ndarray]:
    def unit(x: float) -> np.ndarray:
        return np.asarray([x, np.sqrt(1 - x * x)], np.float32)

    return {'{"x":"ref"}': unit(1.0), '{"x":"near"}': unit(0.7), '{"x":"far"}': unit(0.1)}


def aligned(outcomes: Mapping[str, Outcome] | None = None, predicted: SignedTask = PREDICTED):
    results = Results("f.json", "m", {"t1": predicted}, None if outcomes is None else {"t1": outcomes})
    reference = Reference("ref.json", {"t1": REFERENCE, "t2": task([[("t", {})]], "t2", "kind")}, ())
    return align_model(reference, results, directions(), AlignmentSettings(), Judges())


def _calls(outcomes: Mapping[str, Outcome] | None = None) -> list[AlignedCall]:
    return list(aligned(outcomes).tasks[0].calls)


def test_why_a_call_has_no_partner() -> None:
    near, far, taker, foreign = _calls()
    assert (near.why, near.best.call, near.best.taken_by) == ("taken", 0, 2)
    assert near.best.similarity == pytest.approx(0.7)
    assert (far.why, far.best.call, far.best.taken_by) == ("below-threshold", 0, None)
    assert (taker.kind, taker.why, taker.best) == (CallClass.CORRECT, None, None)
    assert (foreign.why, foreign.best) == ("no-such-tool", None)


def test_why_a_reference_call_was_missed() -> None:
    (missed,) = aligned().tasks[0].missed
    assert (missed.name, missed.why) == ("other", "no-such-tool")


def test_without_outcomes_nobody_knows_hallucinated_from_redundant() -> None:
    assert [call.kind for call in _calls()].count(CallClass.UNMATCHED) == 3


def test_outcomes_tell_hallucinated_from_redundant() -> None:
    kinds = [
        call.kind
        for call in _calls(
            {
                "s1c1": Outcome.SUCCESS,
                "s1c2": Outcome.INVALID_ARGUMENTS,
                "s2c1": Outcome.INVALID_ARGUMENTS,
                "s2c2": Outcome.UNKNOWN_TOOL,
            }
        )
    ]
    assert kinds == [CallClass.REDUNDANT, CallClass.HALLUCINATED, CallClass.CORRECT, CallClass.HALLUCINATED]


def test_an_inconclusive_call_is_neither() -> None:
    assert _calls({"s1c1": Outcome.INCONCLUSIVE})[0].kind is CallClass.UNMATCHED


def test_partially_correct() -> None:
    found = aligned(predicted=task([[("t", NEAR)]], "t1"))
    assert [call.kind for call in found.tasks[0].calls] == [CallClass.PARTIALLY_CORRECT]


def test_unreadable_arguments_are_hallucinated_without_a_run() -> None:
    found = aligned(predicted=task([[("nope", "text")]], "t1"))
    assert [call.kind for call in found.tasks[0].calls] == [CallClass.HALLUCINATED]


def test_a_missing_prediction_counts_as_nothing_found_in_the_second_line() -> None:
    model = aligned().model
    assert model.missing == ("t2",)
    assert (model.aggregate.num_ids, model.aggregate_with_missing.num_ids) == (1, 2)
    assert model.aggregate.recall == pytest.approx(1 / 2)
    assert model.aggregate_with_missing.recall == pytest.approx(1 / 3)
    assert model.aggregate_with_missing.precision == model.aggregate.precision
    assert "with 1 missing" in leaderboard_text([model])


@pytest.mark.parametrize(
    ("reference", "predicted", "expected"),
    [
        (["b", "a"], ["a", "c"], {"a": "a"}),
        (["00010000"], ["10000"], {"00010000": "10000"}),
        (["7"], ["7"], {"7": "7"}),
        (["007", "07"], ["7"], {}),
        (["07"], ["007"], {}),
    ],
)
def test_ids(reference: list[str], predicted: list[str], expected: dict[str, str]) -> None:
    assert pair_ids(reference, predicted) == expected


def test_texts_are_collected_over_all_files_once() -> None:
    reference = Reference("ref.json", {"t1": REFERENCE}, ())
    results = [Results(f"{name}.json", name, {"t1": PREDICTED}) for name in "ab"]
    assert signatures_to_embed(reference, results) == set(directions())


def test_sweep() -> None:
    rows = sweep(aligned())
    assert [row.value for row in rows] == [*VALUES, *VALUES]
    assert {row.pairs for row in rows} == {1}
    found = {(row.threshold, row.value): row.pairs for row in sweep(aligned(predicted=task([[("t", NEAR)]], "t1")))}
    assert found["tau_weak", 0.65] == 1
    assert found["tau_weak", 0.75] == 0
    assert found["tau_strong", 0.75] == 0


def test_explain_shows_the_matrix_and_the_reasons() -> None:
    text = explain(aligned(), REFERENCE, PREDICTED)
    assert "[1.0000]" in text
    assert "0.7000" in text
    assert "best candidate R0 at 0.7000 was taken by P2" in text
    assert "best candidate R0 at 0.1000, below tau_weak 0.6" in text
    assert "no call of this tool in the reference" in text
    assert "no call of this tool in the prediction" in text


def test_hostile_names_are_shown_harmless() -> None:
    nasty = task([[("t\x1b[31m\u202e", {"x": "\x1b]0;owned\x07"})]], "t1")
    reference = Reference("r.json", {"t1": nasty}, ())
    results = Results("f\x1b.json", "m\x1b[2J", {"t1": nasty, "\x1bx": nasty})
    found = align_model(reference, results, vectors([]), AlignmentSettings(), Judges())
    shown = [
        leaderboard_text([found.model]),
        by_type(found.model),
        calls_table([found.model]),
        explain(found, nasty, nasty),
    ]
    text = "\n".join([*shown, *differing_ids(found.model, reference)])
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_judge_scores_join_types_and_average() -> None:
    judges = Judges({("m", "t1"): JudgeScores(completion_rate=1.0, information_grounding_rate=0.5)})
    reference = Reference("ref.json", {"t1": REFERENCE}, ())
    plain = align_model(
        reference, Results("f.json", "m", {"t1": PREDICTED}), directions(), AlignmentSettings(), Judges()
    ).model
    judged = align_model(
        reference, Results("f.json", "m", {"t1": PREDICTED}), directions(), AlignmentSettings(), judges
    ).model
    assert judged.average_score == pytest.approx((6 * plain.average_score + 0.5) / 7)
    assert judged.types[0].average_score == pytest.approx((6 * plain.average_score + 0.5 + 1.0) / 8)
    assert "grounding" in leaderboard_text([judged])
