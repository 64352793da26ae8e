"""Files that others published, against the list of calls that stand in each."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from replay.formats import open_file
from replay.formats.readers import READERS
from tests.conftest import SHARED
from tests.formats.expected_calls import Comparison, compare

FORMATS = sorted({reader.name for reader in READERS} & {path.name for path in SHARED.glob("formats/*")})


def published(name: str) -> list[tuple[Path, Path]]:
    root = SHARED / "formats"
    expected = sorted((root / "expected" / name).glob("*.calls.json"))
    files = [(root / name / path.name.removesuffix(".calls.json"), path) for path in expected]
    return [(path, calls) for path, calls in files if path.suffix != ".eval" or find_spec("inspect_ai") is not None]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", FORMATS)
def test_the_calls_of_published_files_are_read_as_they_stand_there(name: str) -> None:
    total = Comparison()
    for path, expected in published(name):
        found = compare(path, expected)
        total.expected += found.expected
        total.right += found.right
        total.answers_right += found.answers_right
        total.problems += found.problems
    assert total.right >= 0.99 * total.expected, total.problems[:10]
    assert total.answers_right >= 0.97 * total.expected, total.problems[:10]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", FORMATS)
def test_published_files_go_to_their_own_reader_without_a_doubt(name: str) -> None:
    for path, _ in published(name):
        file = open_file(path)
        assert file.format == name, (path.name, file.format, file.why)
        assert not [warning for warning in file.warnings if "not sure" in warning or "might be" in warning], path.name


@pytest.mark.parametrize(
    ("folder", "name"),
    [("m3bench/results", "m3bench"), ("toolathlon/results", "openai-chat"), ("labelled/results", "m3bench")],
)
def test_results_files_go_to_their_own_reader(folder: str, name: str, shared_data: Path) -> None:
    paths = sorted((shared_data / folder).glob("*.json"))
    assert paths
    assert {open_file(path).format for path in paths} == {name}
