"""What holds of every reader of a format that others write."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from replay.errors import FormatError
from replay.formats import READERS
from tests.formats.samples import SAMPLES, opened, read, sample_text

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def test_each_reader_of_a_foreign_format_has_a_sample() -> None:
    assert SAMPLES.keys() == {reader.name for reader in READERS} - {"replay.trajectory", "m3bench"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_goes_to_its_own_reader_without_a_doubt(name: str, tmp_path: Path) -> None:
    results = opened(tmp_path, sample_text(name))
    assert results.format == name
    assert results.calls >= 1
    assert results.warnings == ()


@pytest.mark.parametrize("name", (name for name, sample in SAMPLES.items() if sample_text(name) == json.dumps(sample)))
def test_a_pretty_printed_file_and_one_on_a_line_read_the_same(name: str, tmp_path: Path) -> None:
    pretty = read(tmp_path, json.dumps(SAMPLES[name], indent=2))
    assert pretty == read(tmp_path, json.dumps(SAMPLES[name]))


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=40)
@given(data=st.data())
def test_a_field_of_any_type_is_read_or_refused_in_words(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(SAMPLES[name])
    holder, key = data.draw(st.sampled_from(places(document)))
    holder[key] = data.draw(JSON_VALUES)
    with TemporaryDirectory() as directory:
        try:
            for trajectory in read(Path(directory), sample_text(name, document)):
                assert all(call.position for call in trajectory.calls())
        except FormatError:
            event("refused in words")


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as its holder and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *places(inner)]]
