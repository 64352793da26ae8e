"""Neither the patterns nor the model's training sentences name a server or a tool of the labelled sets."""

from __future__ import annotations

import json
import re
from pathlib import Path

from replay.outcomes import error_report, sentence
from replay.outcomes.causes import cause_words, harness_reports, responsibility
from replay.outcomes.words import error_phrases, patterns

ROOT = Path(__file__).parents[2]
MODULES = cause_words, error_phrases, error_report, harness_reports, patterns, responsibility, sentence


def _names(shared_data):
    described = json.loads((shared_data / "recorded2" / "sources.json").read_text("utf-8"))
    for origin in described.values():
        yield origin["server"].rpartition("/")[2].casefold()
        yield origin["tool"].rpartition("__")[2].casefold()


def test_no_pattern_and_no_training_sentence_holds_the_name_of_a_labelled_server_or_tool(shared_data):
    words = [value.pattern for module in MODULES for value in vars(module).values() if isinstance(value, re.Pattern)]
    text = "\n".join([*words, (ROOT / "benchmarks" / "error_sentences.txt").read_text("utf-8")]).casefold()
    names = {name for name in _names(shared_data) if len(name) > 4 and re.search(r"[\W_\d]", name)}
    assert len(names) > 50
    assert [name for name in names if name in text] == []
