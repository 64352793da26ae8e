"""Answers that said nothing, judged by the tool's other answers and by what the model did next."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.outcomes.second_look import second_look, shape_of, template_of
from replay.records import Call, Source, Step, TextAnswer, Trajectory

SILENT = "The blue one"


def _trajectory(*calls, reply=None):
    """Steps of one call each: its tool, arguments and answer, and what the model wrote beside it."""
    steps = tuple(
        Step(
            calls=(
                Call(
                    position=f"s{number}c1",
                    name=tool,
                    tool=tool,
                    arguments=arguments,
                    answer=TextAnswer(text=answer),
                ),
            ),
            text=words,
        )
        for number, (tool, arguments, answer, words) in enumerate(calls, 1)
    )
    return Trajectory(id="t", model="m", source=Source(file="f", format="x"), steps=steps, final_reply=reply)


def _looked(trajectory):
    judgements = {
        call.position: judge_answer(call, call.answer, evidence="recorded", listed=False) for call in trajectory.calls()
    }
    return judgements, second_look(trajectory, judgements)


def test_the_models_next_words_of_failure_decide_nothing():
    judgements, looked = _looked(
        _trajectory(("choose", {"q": "x"}, SILENT, None), ("get_item", {"id": 1}, "[]", "That failed: rate limit."))
    )
    assert judgements["s1c1"].rule == "success.answered"
    assert looked == {}


def test_a_call_that_is_made_again_with_other_arguments_did_not_go_well_for_certain():
    _, looked = _looked(
        _trajectory(
            ("choose", {"q": "x", "n": 1}, SILENT, None),
            ("choose", {"q": "x", "n": 2}, SILENT, "Good. Let me use 2."),
        )
    )
    assert looked == {}


def test_the_final_reply_is_testimony_of_the_last_call():
    _, looked = _looked(_trajectory(("choose", {"q": "x"}, SILENT, None), reply="Done. It was successful."))
    assert (looked["s1c1"].outcome, looked["s1c1"].certainty) == ("success", "likely")


def test_words_after_several_calls_are_testimony_of_none():
    trajectory = _trajectory(("choose", {"q": "x"}, SILENT, None), reply="That failed.")
    call = trajectory.steps[0].calls[0]
    both = Step(calls=(call, call.model_copy(update={"position": "s1c2"})))
    _, looked = _looked(trajectory.model_copy(update={"steps": (both,)}))
    assert looked == {}


def test_an_answer_that_reads_like_the_tools_failures_is_one():
    judgements, looked = _looked(
        _trajectory(
            ("fetch_rate", {"a": "x"}, "Error: rate for 'USD' not found", None),
            ("fetch_rate", {"a": "y"}, "Nothing for 'EUR'", None),
        )
    )
    assert looked == {}
    first = judgements["s1c1"].model_copy(update={"certainty": "likely"})
    trajectory = _trajectory(
        ("pick", {"a": "x"}, "Lamp 'seven' it was", None), ("pick", {"a": "y"}, "Lamp 'nine' it was", None)
    )
    silent = {
        call.position: judge_answer(call, call.answer, evidence="recorded", listed=False) for call in trajectory.calls()
    }
    known = {**silent, "s1c1": first}
    judged = second_look(trajectory, known)["s2c1"]
    assert (judged.outcome, judged.rule) == ("not_found", "profile.failure")


def test_data_that_differs_in_numbers_alone_is_no_other_answer_of_its_kind():
    _, looked = _looked(
        _trajectory(
            ("book", {"n": 2}, '{"booked": 0, "rejected": ["Error: no ship a found"]}', None),
            ("book", {"n": 3}, '{"booked": 2, "rejected": ["Error: no ship b found"]}', None),
        )
    )
    assert looked == {}


def test_a_bare_code_is_not_judged_by_another_code():
    trajectory = _trajectory(("pay", {"a": "x"}, "E1042", None), ("pay", {"a": "y"}, "E2000", None))
    judgements = {
        call.position: judge_answer(call, call.answer, evidence="recorded", listed=False) for call in trajectory.calls()
    }
    failed = judgements["s1c1"].model_copy(update={"outcome": "not_found", "certainty": "likely"})
    assert second_look(trajectory, {**judgements, "s1c1": failed}) == {}


def test_a_bare_sentence_of_a_tool_whose_successes_are_data_is_no_success():
    data = [("pick", {"a": n}, f'{{"lamp": {n}}}', None) for n in range(4)]
    _, looked = _looked(_trajectory(*data, ("pick", {"a": 9}, SILENT, None)))
    assert (looked["s5c1"].outcome, looked["s5c1"].rule) == ("inconclusive", "profile.unlike")


def test_what_stronger_evidence_decided_stays():
    _, looked = _looked(
        _trajectory(("get_item", {"id": 1}, '{"id": 1, "name": "lamp"}', None), reply="That failed, sorry.")
    )
    assert looked == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Lamp 7 costs 12 EUR", "Lamp 18 costs 4.50 EUR"), ("No room 'a' at /x/y", "No room 'b c' at /z")],
)
def test_a_template_masks_numbers_names_and_paths(one, other):
    assert template_of(one) == template_of(other)


def test_a_template_of_data_keeps_its_fields_and_words():
    full, closed, other = (
        template_of('{"title": "Full", "detail": "7 of 7 seats", "rooms": [12]}'),
        template_of('{"title": "Closed", "detail": "the house is", "rooms": []}'),
        template_of('{"title": "Full", "detail": "9 of 9 seats", "rooms": [14]}'),
    )
    assert full == other != closed
    assert full.split()[:3] == ["title", "full", "detail"]


def test_the_shape_of_an_answer():
    assert [shape_of(text) for text in ("{}", "", "A word.", "a\nb")] == ["data", "data", "sentence", "text"]
