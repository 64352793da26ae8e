from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError, UnknownFormatError
from replay.formats import open_file, open_files
from replay.formats.document import HEAD_BYTES
from replay.records import TextAnswer


def message_of(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(FormatError) as error:
        open_file(path)
    return str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"gone\.json: no such file"):
        open_file(tmp_path / "gone.json")


def test_an_address_is_told_from_a_file_and_shown_as_it_was_typed() -> None:
    with pytest.raises(FormatError, match=r"^https://example\.org/a\.json: an address, not a file"):
        open_file(Path("https://example.org/a.json"))


def test_a_directory_is_told_from_a_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a directory, not a file"):
        open_file(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a"', "expected ':' delimiter, but the file ends here"),
        ('{"a": ', "expected a value, but the file ends here"),
        ('{"a": "x\n', r"invalid control character: '\n'"),
        ('{"a": "x', "unterminated string: '\"x'"),
    ],
)
def test_what_is_wrong_with_json_is_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    assert message_of(tmp_path / "a.json", text).endswith(f"broken JSON: {told}")


def test_broken_json_is_placed_by_line_and_column(tmp_path: Path) -> None:
    text = '[\n {"id": "a", "question": "?", "steps": []},\n {"id": "b" "question": "?"}\n]'
    assert "line 3, column 13: broken JSON: expected ',' delimiter, found '\"question\"" in message_of(
        tmp_path / "a.json", text
    )


def test_a_file_that_ends_too_early_says_so(tmp_path: Path) -> None:
    assert "the file ends here" in message_of(tmp_path / "a.json", '[{"id": "a", "steps": []},')


@pytest.mark.parametrize("text", ["[]", '{"results": []}', "[ ]\n"])
def test_a_file_without_a_record_is_refused(tmp_path: Path, text: str) -> None:
    assert "expected at least one trajectory" in message_of(tmp_path / "a.json", text)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert "the file is empty" in message_of(tmp_path / "a.json", " \n")


def test_an_unknown_shape_tells_what_was_found_and_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"prompt": "x", "output": "y"}]')
    with pytest.raises(UnknownFormatError) as caught:
        open_file(path)
    assert "$[0]: unknown shape: an object with the keys 'prompt', 'output'" in str(caught.value)
    assert "M3-Bench" in caught.value.looked_for
    assert "chat messages" in caught.value.looked_for


def test_what_is_not_json_at_all_is_shown(tmp_path: Path) -> None:
    assert "line 2, column 3: expected JSON ('{' or '['), found 'id,question'" in message_of(
        tmp_path / "a.csv", "\n  id,question"
    )


def test_other_encodings_are_placed(tmp_path: Path) -> None:
    assert "line 2: not UTF-8 text (byte 0xe9)" in message_of(tmp_path / "a.json", b'[\n{"question": "caf\xe9"}]')


def test_deep_nesting_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    assert "nested too deeply" in message_of(tmp_path / "a.json", "[" * 200_000)


def test_a_byte_order_mark_and_lone_surrogates_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf[{"id": "a", "question": "\\ud83d \\u00e9 \\ud83d\\ude00", "steps": []}]')
    (trajectory,) = open_file(path).trajectories()
    assert trajectory.task.question == "\ufffd é 😀"


def test_the_other_files_go_on(tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_text('[{"id": "a", "question": "?", "steps": []}]')
    errors: list[FormatError] = []
    opened = list(open_files([tmp_path / "none.json", good], on_error=errors.append))
    assert [file.path for file in opened] == [str(good)]
    assert len(errors) == 1


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"id": "a", "question": "?", "steps": []}]')
    file = open_file(path)
    path.write_text("[]")
    with pytest.raises(FormatError, match="changed while it was being read"):
        list(file.trajectories())


def conversation(answer: str, **fields: Any) -> dict[str, Any]:
    written = {"id": "1", "function": {"name": "s/t", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [written]},
        {"role": "tool", "tool_call_id": "1", "content": answer},
    ]
    return {**fields, "messages": messages}


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_an_answer_longer_than_the_beginning_that_tells_the_format_is_read(tmp_path: Path, levels: int) -> None:
    answer: str = '{"path": "C:\\\\logs", "text": "a\\n\\"b\\" \\ud83d"}' * (HEAD_BYTES // 20)
    for _ in range(levels - 1):
        answer = json.dumps(answer)[: 2 * HEAD_BYTES]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(conversation(answer)))
    (trajectory,) = open_file(path).trajectories()
    (call,) = trajectory.calls()
    assert isinstance(call.answer, TextAnswer)
    assert call.answer.text == answer


@pytest.mark.parametrize("lines", [False, True])
def test_a_format_that_only_the_end_of_a_large_file_tells_is_found(tmp_path: Path, lines: bool) -> None:
    record = json.dumps(conversation("x", note="lorem ipsum \\" * HEAD_BYTES))
    path = tmp_path / "a.json"
    path.write_text(f"{record}\n{record}" if lines else record)
    assert open_file(path).calls == (2 if lines else 1)


MEASURE = """
import resource, sys
from replay.formats import open_file
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(len(step.calls) for t in open_file(sys.argv[1]).trajectories() for step in t.steps)
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_a_file_of_40_mb_takes_less_than_four_times_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large_test_mcp_fuzzy.json"
    call = {"name": "files/read", "arguments": {"path": "/data/é.txt"}, "result": "lorem ipsum — " * 40}
    record = {"question": "?", "type": "t", "steps": [{"step": 1, "calls": [call] * 4}] * 5}
    with path.open("w", encoding="utf-8") as out:
        out.write("[")
        number = 0
        while out.tell() < 40_000_000:
            out.write(("," if number else "") + json.dumps({"id": str(number), **record}, ensure_ascii=False))
            number += 1
        out.write("]")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True, timeout=300
    )
    calls, used = map(int, done.stdout.split())
    assert calls == number * 20
    assert used < 4 * path.stat().st_size
