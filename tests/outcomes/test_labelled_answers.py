"""How right the outcomes are on labelled answers: on those of our own wording, and on published ones where they are.

`answers.jsonl` holds answers of live servers and answers written after what servers say, `recorded_answers.jsonl`
answers as harnesses record them, without any flag; both were labelled before the rules that judge them were written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
OWN = ("our live servers", "our answers by hand", "our blind answers")


@pytest.fixture(scope="module")
def judged() -> list[tuple[Any, Any]]:
    """Every labelled answer that is there, with its judgement."""
    sys.path.insert(0, BENCHMARKS)
    try:
        import labelled_answers
    finally:
        sys.path.remove(BENCHMARKS)
    return [(case, case.judged()) for case in labelled_answers.all_cases()]


def _misses(judged: list[tuple[Any, Any]]) -> list[Any]:
    return [
        (case.id, case.call.name, case.accepted, str(judgement.outcome), judgement.rule)
        for case, judgement in judged
        if str(judgement.outcome) not in case.accepted
    ]


def _assert_right(judged: list[tuple[Any, Any]], share: float) -> None:
    misses = _misses(judged)
    failures = [judgement for case, judgement in judged if case.fails]
    successes = [judgement for case, judgement in judged if case.succeeds]
    assert len(misses) <= (1 - share) * len(judged), misses
    assert sum(judgement.outcome == "success" for judgement in failures) <= 0.02 * len(failures), misses
    assert sum(judgement.outcome != "success" for judgement in successes) <= 0.03 * len(successes), misses


@pytest.mark.parametrize("source", OWN)
def test_answers_of_our_own_wording_get_an_accepted_outcome(judged: list[tuple[Any, Any]], source: str) -> None:
    own = [(case, judgement) for case, judgement in judged if case.source == source]
    assert len(own) > 400
    _assert_right(own, 0.975)


def test_published_answers_get_an_accepted_outcome(judged: list[tuple[Any, Any]], shared_data: Path) -> None:
    sets = {
        "recorded": [pair for pair in judged if pair[0].source == "recorded"],
        "recorded2": [pair for pair in judged if pair[0].source != "recorded" and pair[0].source not in OWN],
    }
    assert {name: len(found) for name, found in sets.items()} == {"recorded": 263, "recorded2": 240}, shared_data
    for found in sets.values():
        _assert_right(found, 0.97)


def test_what_is_certain_is_right(judged: list[tuple[Any, Any]]) -> None:
    certain = [(case, judgement) for case, judgement in judged if judgement.certainty == "certain"]
    assert len(certain) > 0.4 * len(judged)
    assert len(_misses(certain)) <= 0.01 * len(certain), _misses(certain)


def test_a_fallback_is_less_often_right_than_what_is_certain(judged: list[tuple[Any, Any]]) -> None:
    by_certainty = {
        name: [(case, judgement) for case, judgement in judged if judgement.certainty == name]
        for name in ("certain", "fallback")
    }
    wrong = {name: len(_misses(found)) / len(found) for name, found in by_certainty.items()}
    assert wrong["certain"] < wrong["fallback"]


def _of_kinds(name: str) -> list[tuple[Any, Any]]:
    """The judged answers of a file of kinds: what hosts, SDKs and servers say, each in our own wording."""
    sys.path.insert(0, BENCHMARKS)
    try:
        import labelled_answers
    finally:
        sys.path.remove(BENCHMARKS)
    return [(case, case.judged()) for case in labelled_answers.cases_of_kinds(name)]


def test_no_sentence_of_a_host_or_an_sdk_that_hides_the_cause_is_charged_to_the_model() -> None:
    judged = _of_kinds("host_sentences")
    assert len(judged) >= 39
    assert _misses(judged) == []


def test_answers_of_many_kinds_of_servers_get_an_accepted_outcome() -> None:
    _assert_right(_of_kinds("kinds"), 0.95)


def test_the_errors_of_large_apis_are_read_in_their_own_envelopes_and_their_data_is_data() -> None:
    judged = _of_kinds("api_envelopes")
    assert len(judged) >= 75
    assert _misses(judged) == []


def test_programs_without_a_status_are_read_by_how_each_says_that_it_gives_up() -> None:
    judged = _of_kinds("program_outputs")
    assert len(judged) >= 105
    assert _misses(judged) == []
