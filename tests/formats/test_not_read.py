"""What was not read is told: signs of calls that no reader knows, known products, and what only lies beside runs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError, UnknownFormatError
from replay.formats import open_file, open_files
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
    "defined tools": {
        "messages": [SAID],
        "body": {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}},
    },
}
PRODUCTS: dict[str, Any] = {
    "HTTP archive": {"log": {"version": "1.2", "creator": {"name": "x"}, "entries": []}},
    "Weights & Biases Weave": [{"id": "1", "op_name": "chat", "trace_id": "t", "inputs": {}, "output": None}],
    "Weights & Biases export": [{"_step": 1, "_runtime": 2, "_timestamp": 3, "loss": 0.1}],
    "LangGraph checkpoint": {"v": 1, "ts": "", "channel_values": {"messages": []}, "channel_versions": {}},
    "DSPy history": [{"prompt": None, "messages": [SAID], "kwargs": {}, "outputs": [""], "usage": {}, "timestamp": ""}],
    "CrewAI log": [{"timestamp": "", "task_name": "t", "task": "do", "agent": "a", "status": "started"}],
    "Helicone export": [{"request_id": "1", "request_body": {}, "response_body": {}}],
    "MLflow trace": {"info": {"request_id": "tr-1", "status": "OK"}, "data": {"spans": []}},
    "Dify log": {"data": [{"id": "1", "query": "?", "answer": "!", "agent_thoughts": []}]},
    "n8n execution": {"id": "1", "finished": True, "data": {"resultData": {"runData": {}}}, "workflowId": "w"},
    "Pydantic AI": [{"parts": [{"part_kind": "tool-call"}], "kind": "response", "timestamp": ""}],
    "Claude Code's hooks": [{"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash"}],
}
RECORDINGS: dict[str, Any] = {
    "a chat": {"log": [{"speaker": "user", "text": "?"}, {"speaker": "assistant", "text": "!"}]},
    "calls with answers": [{"ts": 1, "tool": "search", "output": "found"}],
    "calls with arguments": {"rounds": [{"functionCall": {"name": "search", "args": {}}}]},
    "thoughts and actions": [{"thought": "hm", "action": "search", "observation": "found"}],
}
OTHER_KINDS: dict[str, Any] = {
    "settings": {"hooks": {"PreToolUse": [{"matcher": "*"}]}, "permissions": {"allow": ["Bash"]}},
    "a policy": {"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]},
    "tools": [{"name": "search", "description": "Searches", "inputSchema": {"type": "object"}}],
    "a report": {"tool_calls": 7, "tool_errors": 1, "per_tool": {"search": 3}},
    "a data set": [{"id": 1, "question": "?", "answer": "!", "expected_tools": ["search"]}],
    "a lock file": {"packages": {"node_modules/function-bind": {"version": "1"}, "node_modules/content-type": {}}},
    "a vocabulary": {"eval": 1, "status": 2, "version": 3, "tool": 4, "id": 5, "steps": 6, "question": 7},
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


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_file_of_a_known_product_that_is_not_read_is_told_by_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(PRODUCTS[name]))
    try:
        file = open_file(path)
    except FormatError as error:
        told = str(error)
    else:
        assert (file.calls, file.signs != ()) == (0, True)
        told = " ".join(file.warnings)
    assert f"{name}" in told
    assert "which is not read" in told


def unread(folder: Path) -> tuple[list[str], list[str]]:
    errors: list[FormatError] = []
    notes: list[str] = []
    list(open_files([folder], None, errors.append, notes.append))
    return [Path(error.path).name for error in errors], notes


def test_beside_runs_only_what_looks_like_a_recording_counts_as_unread(tmp_path: Path) -> None:
    for name, document in {**RECORDINGS, **OTHER_KINDS}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    errors, notes = unread(tmp_path)
    assert errors == sorted(f"{name}.json" for name in RECORDINGS)
    assert any(f"{len(OTHER_KINDS)} files of other kinds were not read: " in note for note in notes)


def test_what_breaks_off_counts_as_unread_and_settings_with_comments_do_not(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('[{"tool": "search", "output": "fo')
    (tmp_path / "settings.json").write_text('{\n  // where it listens\n  "port": 1\n}')
    assert unread(tmp_path)[0] == ["cut.json"]
    with pytest.raises(UnknownFormatError, match="JSON with comments"):
        open_file(tmp_path / "settings.json")


def test_an_archive_that_cannot_be_opened_takes_no_file_beside_it_along(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("code.py", "")
    (tmp_path / "run.json").write_text(json.dumps(RECORDINGS["a chat"]))
    errors, notes = unread(tmp_path)
    assert errors == ["a.zip", "run.json"]
    assert any("b.zip: no file in it ends in" in note for note in notes)
