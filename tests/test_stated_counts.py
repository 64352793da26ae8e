"""A number that the docs state is the one that the code has."""

from __future__ import annotations

import re

import pytest

from replay.alignment.aligner import AlignmentSettings
from replay.alignment.encoder import _MiniLM
from replay.alignment.on_workers import TEXTS_A_JOB
from replay.alignment.ties import MAX_ASSIGNMENTS
from replay.analysis.compare import MAX_PAIRED
from replay.analysis.measures import AVERAGED
from replay.analysis.statistics import MAX_EXACT, TIMES
from replay.formats.readers import READERS
from replay.formats.sources import MAX_RATIO, RATIO_COUNTS_FROM
from replay.json_values import MAX_DEPTH, MAX_DIGITS
from replay.recorder.fleet_server import MAX_NAME_LENGTH
from replay.records import FAILURES, Outcome
from tests.scripts import ROOT

WORDS = dict(enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]))
STATED = [
    ("README.md", f"one of {WORDS[len(Outcome) - 1]} outcomes"),
    ("docs/browse.md", f"the {WORDS[len(Outcome) - 1]} outcomes that count"),
    ("docs/browse.md", f"the {WORDS[len(FAILURES)]} that are failures"),
    ("docs/ci.md", f"all {WORDS[len(FAILURES)]} that are failures"),
    ("docs/fleet.md", f"one of the {WORDS[len(Outcome)]}"),
    ("docs/compare.md", f"the {WORDS[len(AVERAGED) - 1]} alignment columns"),
    ("docs/compare.md", f"{TIMES:,} draws of the tasks"),
    ("docs/compare.md", f"Up to {MAX_EXACT} tasks by the exact"),
    ("docs/compare.md", f"Above {MAX_PAIRED} models no pair"),
    ("docs/metrics.md", f"more than {MAX_ASSIGNMENTS} different ones {MAX_ASSIGNMENTS}"),
    ("docs/metrics.md", f"`tau_weak` ({AlignmentSettings.tau_weak})"),
    ("docs/metrics.md", f"cut at {_MiniLM.MAX_TOKENS} tokens"),
    ("docs/formats.md", f"more than {MAX_DIGITS:,} digits"),
    ("docs/formats.md", f"more than {MAX_DEPTH} deep"),
    ("docs/formats.md", f"{MAX_RATIO} times its size past {RATIO_COUNTS_FROM // 1024**2} MB"),
    ("docs/recording.md", f"at most {MAX_NAME_LENGTH} of"),
    ("docs/cluster.md", f"{TEXTS_A_JOB} at a time"),
]


@pytest.mark.parametrize(("page", "words"), STATED, ids=lambda value: value)
def test_a_number_of_the_docs_is_that_of_the_code(page: str, words: str) -> None:
    assert words in re.sub(r"\s+", " ", (ROOT / page).read_text("utf-8"))


def test_the_formats_and_the_outcomes_of_the_docs_are_those_of_the_code() -> None:
    formats = (ROOT / "docs" / "formats.md").read_text("utf-8")
    rows = [line.partition(" | ")[0] for line in formats.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"[a-z][\w.-]+", row)}
    assert {reader.name for reader in READERS} - named == set()
    readme = (ROOT / "README.md").read_text("utf-8").partition("## The outcomes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE) == [str(outcome) for outcome in Outcome]
