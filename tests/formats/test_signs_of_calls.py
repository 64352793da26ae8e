"""A file from which no call is read, though it speaks of calls, is told so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.samples import opened

SAID = {"role": "assistant", "content": "done"}
UNKNOWN: dict[str, Any] = {
    "tool_invocations": [{**SAID, "tool_invocations": [{"toolName": "search"}]}],
    "actionName": [{**SAID, "actionName": "search"}],
    "invoke": [{**SAID, "content": [{"type": "invoke", "of": "search"}]}],
    "ToolRequest": [{**SAID, "more": json.dumps({"ToolRequest": {"n": "search"}})}],
}
HARMLESS: dict[str, Any] = {
    "nothing": [SAID],
    "no calls": [{**SAID, "tool_calls": [], "function_call": None}],
    "offered tools": {"messages": [SAID], "tools": [{"name": "search"}], "tool_choice": "auto"},
    "other words": [{**SAID, "transaction_id": "7", "reaction": "+1"}],
}


@pytest.mark.parametrize("sign", UNKNOWN)
def test_signs_of_calls_that_no_reader_understands_are_told(sign: str, tmp_path: Path) -> None:
    file = opened(tmp_path, UNKNOWN[sign])
    assert (file.calls, sign in file.signs) == (0, True)
    assert any("this version may not be understood" in warning and sign in warning for warning in file.warnings)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_file_without_calls_is_nothing_to_speak_of(name: str, tmp_path: Path) -> None:
    file = opened(tmp_path, HARMLESS[name])
    assert (file.calls, file.signs, file.warnings) == (0, (), ())
