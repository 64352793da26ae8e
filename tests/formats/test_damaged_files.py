from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.errors import FormatError
from replay.formats import document, open_file, open_files
from replay.formats.readers import READERS
from replay.formats.results_file import ResultsFile
from tests.conftest import SHARED

RECORD = {"id": "a", "question": "?", "steps": [{"calls": [{"name": "s/t", "arguments": {}}]}]}
CHAT = {
    "messages": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "s/t", "arguments": "{}"}}]},
    ]
}


def record(identifier: str, **fields: Any) -> str:
    return json.dumps({**RECORD, "id": identifier, **fields}, ensure_ascii=False)


A, B = record("a"), record("b")


def read(tmp_path: Path, text: str) -> ResultsFile:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    file = open_file(path)
    assert [trajectory.id for trajectory in file.trajectories()] == list(file.ids)
    return file


@pytest.mark.parametrize(
    "text",
    [
        f"[{A}]\n[{B}]",
        f"{A} {B}",
        f"{A}\n{B}",
        json.dumps(json.loads(A), indent=2) + "\n" + json.dumps(json.loads(B), indent=2),
        f'{{"data": [{A}], "items": [{B}]}}',
        f"[{A}]{B}",
    ],
    ids=["two lists", "two objects", "lines", "pretty-printed lines", "two list fields", "a list and an object"],
)
def test_all_of_several_values_is_read(tmp_path: Path, text: str) -> None:
    file = read(tmp_path, text)
    assert (file.ids, file.warnings) == (("a", "b"), ())


@pytest.mark.parametrize(
    ("text", "ids", "warning"),
    [
        (f"[{A}]\nxyz", ("a",), "line 2: 'xyz' and what follows is not JSON; not read"),
        (f'{{"data": [{A}], "ite', ("a",), "from here on nothing was read"),
        (f'{{"data": [{A}], "items": [{B}, ', ("a", "b"), "from here on nothing was read"),
        (f'{A}\n{{"id": \n{B}', ("a", "b"), "line 2: broken JSON, this line was not read"),
        (f'{A}\n{B}\n{{"id": "c", "que', ("a", "b"), "line 3: the last line is not whole"),
        (f'{A}\n{{"foo": 1}}\n{B}', ("a", "b"), "records of no known format were not read: line 2"),
    ],
    ids=["trailing text", "a cut-off key", "a cut-off list", "a broken line", "a cut-off line", "a strange line"],
)
def test_what_was_not_read_is_said_and_the_rest_is_read(
    tmp_path: Path, text: str, ids: tuple[str, ...], warning: str
) -> None:
    file = read(tmp_path, text)
    assert file.ids == ids
    assert any(warning in one for one in file.warnings), file.warnings


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_line_that_is_too_long_is_told_and_not_held(
    position: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MAX_LINE_BYTES", 2000)
    monkeypatch.setattr(document, "_PIECE_BYTES", 100)
    lines = [A, B]
    lines.insert(position, json.dumps({"id": "c", "question": "x" * 5000}))
    file = read(tmp_path, "\n".join(lines))
    assert (file.ids, file.lost) == (("a", "b"), 1)
    assert any(f"line {position + 1}: a line of more than 0 MB; not read" in one for one in file.warnings)


def test_one_value_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_VALUE_BYTES", 300_000)
    with pytest.raises(FormatError, match="one JSON value of more than 0 MB"):
        read(tmp_path, f"[{A}, {json.dumps('x' * 300_000)}]")


def test_two_formats_in_one_file_of_lines_are_both_read(tmp_path: Path) -> None:
    file = read(tmp_path, f"{A}\n{json.dumps(CHAT)}\n{B}")
    assert (file.format, file.calls, file.warnings) == ("m3bench+openai-chat", 3, ())


def test_separators_inside_strings_end_no_line(tmp_path: Path) -> None:
    file = read(tmp_path, record("a", question="x\u2028y\u0085z") + "\n" + B)
    assert next(file.trajectories()).task.question == "x\u2028y\u0085z"


@pytest.mark.parametrize("lines", [True, False])
def test_an_integer_of_5000_digits_is_kept_as_text(tmp_path: Path, lines: bool) -> None:
    digits = "9" * 5000
    text = A.replace('"arguments": {}', f'"arguments": {{"n": {digits}}}')
    file = read(tmp_path, text + ("\n" + B if lines else ""))
    assert next(next(file.trajectories()).calls()).arguments == {"n": digits}


@pytest.mark.parametrize("depth", [250, 990, 100_000])
def test_a_value_nested_too_deeply_harms_only_its_own_record(tmp_path: Path, depth: int) -> None:
    deep = A.replace('"arguments": {}', f'"arguments": {{"n": {"[" * depth}{"]" * depth}}}')
    file = read(tmp_path, f"{deep}\n{B}")
    assert "b" in file.ids
    assert [trajectory.model_dump_json() for trajectory in file.trajectories()]


@pytest.mark.parametrize(
    "text", ['[{"role": {}}]', '{"data":', '{"data": [', '{"messages": [{"role": {}}]}', "\0\0", "42", "[null]", "{}"]
)
def test_what_cannot_be_read_is_refused_and_the_other_files_go_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    (tmp_path / "good.json").write_text(A)
    errors: list[FormatError] = []
    files = list(open_files([tmp_path / "bad.json", tmp_path / "good.json"], on_error=errors.append))
    assert [file.ids for file in files] == [("a",)]
    assert len(errors) == 1


def test_chat_messages_under_a_container_key_are_a_conversation(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps({"data": CHAT["messages"]})).calls == 1


def samples() -> list[str]:
    """A small published file of each format, where the shared data is there, else our own."""
    found = [A, json.dumps(CHAT)]
    for reader in READERS:
        files = [path for path in SHARED.glob(f"formats/{reader.name}/*.json*") if path.stat().st_size < 40_000]
        found += [path.read_text(encoding="utf-8") for path in sorted(files)[:1]]
    return found


SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.just({}) | st.just([])
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real file of which one value was replaced, or that was cut, or in which bytes were changed."""
    text = draw(st.sampled_from(samples()))
    how = draw(st.sampled_from(["value", "cut", "bytes"]))
    data = text.encode()
    if how == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if how == "bytes":
        place = draw(st.integers(0, len(data)))
        return data[:place] + draw(st.binary(max_size=4)) + data[place + 1 :]
    lines = text.strip().splitlines() if "\n{" in text.strip() and text.lstrip()[0] == "{" else [text]
    number = draw(st.integers(0, len(lines) - 1))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return data
    lines[number] = json.dumps(_replace(draw, value))
    return "\n".join(lines).encode()


def _replace(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 6)) == 0:
        return draw(SCALARS)
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[key] = _replace(draw, value[key])
    return changed


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(data=damaged())
def test_a_damaged_file_is_read_or_refused_in_a_sentence(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "file.json"
    path.write_bytes(data)
    refusal = ""
    try:
        file = open_file(path)
        trajectories = list(file.trajectories())
    except FormatError as error:
        refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        return
    assert [trajectory.id for trajectory in trajectories] == list(file.ids)
    assert sum(len(list(trajectory.calls())) for trajectory in trajectories) == file.calls
    for trajectory in trajectories:
        trajectory.model_dump_json()
