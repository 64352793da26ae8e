"""Compares what a reader made of a published file with the list of calls that stand in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.formats import open_file
from replay.records import Call, RpcError, TextAnswer, ToolResult, texts_of
from replay.records.tool_name import read_name


@dataclass
class Comparison:
    """How many calls of a file were read as they stand in it."""

    expected: int = 0
    right: int = 0
    answers_right: int = 0
    problems: tuple[str, ...] = ()


def compare(path: Path, expected: Path) -> Comparison:
    """Compare a file with its `.calls.json`."""
    wanted = [call for one in json.loads(expected.read_text())["trajectories"] for call in one["calls"]]
    wanted.sort(key=lambda call: call["index"])
    found = [call for trajectory in open_file(path).trajectories() for call in trajectory.calls()]
    by_id: dict[str | None, list[Call]] = {}
    for call in found:
        by_id.setdefault(call.id, []).append(call)
    required = [call for call in wanted if not call.get("optional")]
    optional = [call for call in wanted if call.get("optional")]
    result = Comparison(expected=len(required))
    problems: list[str] = []
    for call in required:
        candidates = by_id.get(call["id"]) or []
        match = next((one for one in candidates if _same_call(one, call)), None)
        if match is None:
            problems.append(f"{call['index']} {call['name']}: {str(candidates[:1])[:300]}")
            continue
        candidates.remove(match)
        result.right += 1
        if _same_answer(match, call):
            result.answers_right += 1
        else:
            problems.append(f"answer of {call['index']}: {str(match.answer)[:200]} / {str(call)[-200:]}")
    for call in optional:
        candidates = by_id.get(call["id"]) or []
        match = next((one for one in candidates if one.name == call["name"]), None)
        if match:
            candidates.remove(match)
    extra = [call for calls in by_id.values() for call in calls]
    problems += [f"not in the file: {call.name} {call.id}" for call in extra]
    result.right -= len(extra)
    result.problems = tuple(problems)
    return result


def _same_call(call: Call, wanted: dict[str, Any]) -> bool:
    names = {wanted["name"], *(wanted.get("accept_names") or ())}
    read = read_name(call.name or "", ())
    server, tool = (call.server, call.tool) if call.tool else (read.server, read.tool)
    same_name = call.name in names or (bool(wanted["server"]) and (server, tool) == (wanted["server"], wanted["tool"]))
    if wanted["server"]:
        same_name = same_name and (server, tool) == (wanted["server"], wanted["tool"])
    arguments = [wanted["arguments"], *(wanted.get("accept") or ())]
    if wanted["arguments"] is None:
        return same_name and call.raw == wanted.get("arguments_text")
    return same_name and call.arguments in arguments


def _same_answer(call: Call, wanted: dict[str, Any]) -> bool:
    flag = call.answer.is_error if isinstance(call.answer, ToolResult) else None
    if wanted["is_error"] is not None and flag is not wanted["is_error"]:
        return False
    if wanted["answer"] is None:
        return call.answer is None
    if call.answer is None:
        return False
    whole = call.answer.text if isinstance(call.answer, TextAnswer) else "\n".join(texts_of(call.answer))
    assert not isinstance(call.answer, RpcError)
    texts = {whole, "".join(texts_of(call.answer))}
    if "answer_inner" in wanted and any(text.startswith(wanted["answer_inner"]) for text in texts):
        return True
    return wanted["answer"][:2000] in {text[:2000] for text in texts}
