"""No pattern is there for one source's answers alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from replay.outcomes import error_report, sentence
from replay.outcomes.causes import cause_words, harness_reports, responsibility
from replay.outcomes.words import error_phrases, patterns
from replay.records import TransportFault, texts_of

MODULES = cause_words, error_phrases, error_report, harness_reports, patterns, responsibility, sentence
MAX_TEXT = 1500
OF_ARGUMENTS = {"_STATEMENT"}
"""Held against what the model wrote, not against answers."""


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    """Every labelled answer of the published sets and of our own."""
    benchmarks = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, benchmarks)
    try:
        import labelled_answers
    finally:
        sys.path.remove(benchmarks)
    return list(labelled_answers.all_cases())


def _source(case: Any) -> str:
    return f"{case.source}: {case.server}"


def test_no_pattern_matches_the_answers_of_a_single_source(cases: list[Any]) -> None:
    texts = {
        ("\n".join(texts_of(case.answer))[:MAX_TEXT], _source(case))
        for case in cases
        if not isinstance(case.answer, TransportFault)
    }
    compiled = {
        f"{module.__name__}.{name}": value
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern) and name not in OF_ARGUMENTS
    }
    assert len(compiled) > 30
    for name, pattern in compiled.items():
        matched = _two_sources(pattern, texts)
        assert len(matched) != 1, f"{name} matches answers of {matched} alone"


def _two_sources(pattern: re.Pattern[str], texts: set[tuple[str, str]]) -> set[str]:
    """Sources of answers that a pattern matches; the first two are enough."""
    found: set[str] = set()
    for text, source in texts:
        if source not in found and pattern.search(text):
            found.add(source)
            if len(found) == 2:
                break
    return found
