"""Where bytes from outside come in, and what is fuzzed there: one door a reader."""

from __future__ import annotations

import io
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from replay.dag import infer_edges
from replay.errors import ReplayError
from replay.formats import open_file
from replay.formats.readers import READERS
from replay.formats.results_file import ResultsFile
from replay.formats.sources import InputFile
from replay.interpreter import Fleet
from replay.interpreter.session.json_rpc import Failed, Returned
from replay.interpreter.session.server_connection import answer_of
from replay.interpreter.session.stdio import _message_of
from replay.json_values import bounded
from replay.outcomes import judge_answer
from replay.outcomes.input_schema import check_schema
from replay.recorder.recording_store import write_recovered
from replay.records import Call, DataEdge, Server, Tool, Trajectory, canonical
from replay.records.files import TrajectoryFile, dump
from replay.replayer.cassette import read_cassette
from replay.safety.redaction import Redactor
from tests.formats.samples import SAMPLES, sample_text
from tests.hostile.mutation import Seed, small

ROOT: Final = Path(__file__).parents[2]
CORPUS: Final = ROOT / ".fuzz-corpus"
SHARED: Final = Path(os.environ.get("REPLAY_SHARED", ROOT.parent / "shared")) / "data"
_MAX_FILE_BYTES: Final = 2_000_000
_SEED_BYTES: Final = 5_000
_SEEDS_A_FORMAT: Final = 12
_MAX_SEEDS: Final = 24
_JUDGED_SHARE: Final = 8
"""Of so many inputs one is judged as well: that takes longer than reading."""

Door = Callable[[bytes, Path], str]
"""Takes an input and a place for files; gives what came of it in a few words, or raises."""


def _open(data: bytes) -> ResultsFile:
    return open_file(InputFile("runs/input.json", lambda: io.BytesIO(data), lambda: len(data)))


def read_results(data: bytes, path: Path) -> str:
    """A results file, through to the edges and the verdicts on its recorded answers."""
    file = _open(data)
    found: Counter[str] = Counter()
    ids, judged = [], len(data) % _JUDGED_SHARE == 0
    for trajectory in file.trajectories():
        ids.append(trajectory.id)
        trajectory.model_dump_json().encode()
        if judged:
            infer_edges(trajectory)
        for call in trajectory.calls():
            found[f"{call.unreadable} {call.answer.kind if call.answer else None}"] += 1
            if judged and call.answer is not None:
                judge_answer(call, call.answer, evidence="recorded").message.encode()
    if tuple(ids) != file.ids or found.total() != file.calls:
        raise AssertionError("what was read differs from what was counted")
    few = " ".join(f"{what}:{min(count, 3)}" for what, count in sorted(found.items()))
    return f"{file.format} {min(len(file.ids), 3)} {few} {len(file.warnings) > 0}"


def read_fleet(data: bytes, path: Path) -> str:
    path = path.with_suffix(".yaml")
    path.write_bytes(data)
    fleet = Fleet.load(path)
    fleet.secrets()
    return f"{min(len(fleet.servers), 3)} servers"


def read_stored(data: bytes, path: Path) -> str:
    path.write_bytes(data)
    cassette = read_cassette(path)
    return f"{min(len(cassette.answers), 3)} answers, torn {cassette.torn}"


def read_recording(data: bytes, path: Path) -> str:
    """A recording that was cut off, as `recover` reads it."""
    path.write_bytes(data)
    try:
        written = write_recovered(path, path.with_name("out.trajectory.json"))
    finally:
        for left in path.parent.glob("out*.json"):
            left.unlink()
    return written.partition(":")[0]


def receive(data: bytes, path: Path) -> str:
    """A line of a server, through to its verdict and what is stored of it."""
    message = _message_of(data)
    if not isinstance(message, dict):
        return "no message"
    error = message.get("error")
    reply = Failed(error) if isinstance(error, dict) else Returned(message.get("result"))
    answer = answer_of(reply, lambda note: None)
    arguments = bounded(message.get("result")) if isinstance(message.get("result"), dict) else {}
    tool = Tool(name="t", input_schema=message.get("result"))
    call = Call(position="s1c1", name="s/t", arguments=arguments, answer=answer)
    checked = check_schema(tool, arguments)
    verdict = judge_answer(call, answer, evidence="replay", tool=tool, violations=checked.violations)
    for record in (answer, tool, call, verdict):
        canonical(Redactor().json(record.model_dump(mode="json"))).encode()
    verdict.message.encode()
    return f"{answer.kind} {verdict.outcome} {verdict.rule} {bool(checked.violations)}"


FORMATS: Final = tuple(reader.name for reader in READERS)
DOORS: Final[dict[str, Door]] = {
    **dict.fromkeys(FORMATS, read_results),
    "fleet": read_fleet,
    "cassette": read_stored,
    "recording": read_recording,
    "answer": receive,
}


def seeds(door: str, dice: random.Random, corpus: Path | None = CORPUS) -> list[Seed]:
    """What is mutated at a door, what earlier runs kept among it; nothing where the data for it is absent."""
    found = _format_seeds(door, dice) if door in FORMATS else list(map(Seed.of, _OWN[door]()))
    kept = sorted(corpus.glob(f"{door}@*")) if corpus else []
    chosen = dice.sample(kept, min(len(kept), len(found)))
    return found + [Seed.of(path.read_bytes()) for path in chosen]


def _format_seeds(name: str, dice: random.Random) -> list[Seed]:
    """Small files of one format: our samples, and real files cut down until they are small and still hold calls."""
    found = [sample_text(name).encode()] if name in SAMPLES else []
    found += _own_trajectories() if name == "replay.trajectory" else _SMALL.get(name, ())
    for path in _files_of(name):
        whole = Seed.of(path.read_bytes())
        for _ in range(_SEEDS_A_FORMAT):
            if cut := _cut_down(whole.values, name, dice):
                found.append(cut)
    chosen = sorted(dict.fromkeys(found), key=len)
    return [Seed.of(data) for data in chosen[:_MAX_SEEDS]]


def _files_of(name: str) -> Iterable[Path]:
    places = {
        "m3bench": [*sorted(ROOT.glob("traces/*.json")), *sorted(SHARED.glob("m3bench/*.json"))],
        "openai-chat": sorted(SHARED.glob("toolathlon/**/*.json*")),
    }
    files = [*places.get(name, []), *sorted(SHARED.glob(f"formats/{name}/*.json*"))]
    return [path for path in files if path.stat().st_size < _MAX_FILE_BYTES]


def _cut_down(values: list[Any], name: str, dice: random.Random) -> bytes | None:
    smallest = None
    for items, letters in ((40, 300), (12, 200), (6, 120), (4, 60), (3, 40), (2, 30)):
        cut = values if len(values) == 1 else small(values, dice, items=2 * items, letters=10**6)
        data = b"\n".join(json.dumps(small(one, dice, items=items, letters=letters)).encode() for one in cut)
        if len(data) > _SEED_BYTES:
            continue
        try:
            file = _open(data)
        except ReplayError:
            continue
        if file.calls and name in file.format.split("+"):
            smallest = data
    return smallest


_MESSAGES: Final = [
    {"role": "user", "content": [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "http://x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "s/t", "arguments": "{\"a\": [1, {\"b\": null}]}"}},
        {"id": "2", "type": "function", "function": {"name": "s-u", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "1", "content": "found"},
    {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "{\"error\": 1}"}]},
    {"role": "assistant", "content": "done", "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "x"},
    {"role": "assistant", "content": "bye"},
]  # fmt: skip
_RECORD: Final = {
    "id": "a", "type": "x", "question": "?", "final_reply": "z",
    "steps": [{"step": 1, "calls": [{"name": "s/t", "arguments": {"a": 1}, "result": {"content": [{"type": "text",
                                                                                                   "text": "x"}]}}]}],
    "dialogue": [{"work": {"tool_calls": [], "assistant": "{\"name\": \"s/t\", \"arguments\": {}}"}}],
}  # fmt: skip
_SMALL: Final[dict[str, list[bytes]]] = {
    "openai-chat": [
        json.dumps(_MESSAGES).encode(),
        json.dumps({"messages": _MESSAGES, "id": 5, "model": "m", "usage": {"prompt_tokens": 3}}).encode(),
        b"\n".join(json.dumps({"messages": _MESSAGES[start:], "task_id": "k"}).encode() for start in (0, 1, 0)),
    ],
    "m3bench": [
        json.dumps([_RECORD, {**_RECORD, "id": "b"}]).encode(),
        json.dumps({"data": {"a": _RECORD, "b": _RECORD}}).encode(),
    ],
}


def _own_trajectories() -> list[bytes]:
    found = []
    for data in (*_SMALL["openai-chat"], *_SMALL["m3bench"]):
        for trajectory in _open(data).trajectories():
            fields = {name: getattr(trajectory, name) for name in Trajectory.model_fields}
            tool = Tool(name="t", input_schema={"type": "object", "properties": {"a": {"type": "string"}}})
            edge = DataEdge(
                producer="s1c1", producer_pointer="/text", consumer="s1c2", consumer_pointer="/a", value=[1]
            )
            fields |= {"servers": (Server(name="s", tools=(tool,)),), "tools": (tool,)}
            fields |= {"edges": (edge,) if len(list(trajectory.calls())) > 1 else ()}
            found.append(json.dumps(dump(TrajectoryFile(**fields))).encode())
    return found


def _own_fleets() -> list[bytes]:
    fleet = {
        "version": 1,
        "defaults": {"call_timeout": 30, "startup_timeout": 60, "effects": "read-only"},
        "local_tools": ["local-*"],
        "servers": {
            "a": {"command": "x", "args": ["-y", "${workspace}"], "env": {"KEY": "${EXCEL_KEY:-}"}, "cwd": "/tmp",
                  "state": "trajectory", "effects": "sandboxed", "max_restarts": 2,
                  "rules": [{"id": "x.y", "pattern": "no .*", "outcome": "not_found"}]},
            "b": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        },
        "workspace": {"template": "workspaces/${task}", "recorded_as": ["/workspace/dumps/workspace"]},
    }  # fmt: skip
    desktop = {
        "mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}, "b": {"url": "http://x"}}
    }
    yaml = b'version: 1\nservers:\n  a:\n    command: uvx\n    args: [--with, "mcp<2", stdio]\n    env: {KEY: x}\n'
    return [yaml, json.dumps(fleet).encode(), json.dumps(desktop).encode()]


def _own_recordings() -> list[bytes]:
    header = {"format": "replay.recording", "version": 1, "id": "a", "model": "m", "task": "t"}
    events = [
        {"event": "identity", "t": 0, "message": {"result": {"serverInfo": {"name": "s", "version": "1"}}}},
        {"event": "tools", "t": 0, "first": True, "message": {"result": {"tools": [{"name": "t", "inputSchema": {}}]}}},
        {"event": "call", "t": 0.1, "n": 1, "message": {"id": 1, "params": {"name": "t", "arguments": {"a": 1}}}},
        {"event": "answer", "t": 0.2, "n": 1, "message": {"result": {"content": [{"type": "text", "text": "x"}]}}},
        {"event": "note", "t": 0.2, "message": "thinking"},
        {
            "event": "call",
            "t": 0.3,
            "n": 2,
            "server": "s",
            "tool": "t",
            "message": {"id": "2", "params": {"name": "t"}},
        },
        {"event": "fault", "t": 0.4, "n": 2, "message": {"fault": "timeout", "message": "too long"}},
        {"event": "unparsed", "t": 0.5, "n": 3, "message": "{not json", "open": True},
        {"event": "over", "t": 0.6, "n": 3},
        {"event": "step", "t": 0.7, "message": True},
    ]
    return [b"".join(json.dumps(entry).encode() + b"\n" for entry in (header, *events))]


def _own_cassettes() -> list[bytes]:
    head = {
        "format": "replay.cassette",
        "version": 1,
        "fleet": {},
        "servers": [{"name": "s", "tools": [{"name": "t"}]}],
    }
    answers = [
        {"kind": "result", "content": [{"type": "text", "text": "x"}], "is_error": True},
        {"kind": "error", "code": -1, "message": "no", "data": {"a": 1}},
        {"kind": "text", "text": "x"},
    ]
    lines = [{"key": f"k{n}", "server": "s", "tool": "t", "answer": answer} for n, answer in enumerate(answers)]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in (head, *lines))]


def _own_answers() -> list[bytes]:
    schema = {"type": "string", "pattern": "^x", "enum": ["x", 1], "minLength": 1}
    results: tuple[Any, ...] = (
        {"content": [{"type": "text", "text": "hello"}]},
        {"content": [{"type": "text", "text": '{"error": "not found", "status": 404}'}], "isError": True},
        {"content": [{"type": "text", "text": "Error executing tool t: 1 validation error\na\n  Field required"}]},
        {"type": "object", "properties": {"a": schema, "content": {}}, "required": ["a"]},
        {"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/y"}, schema]}}, "properties": {"type": {"$ref": "#/$defs/x"}}},
        {"content": [], "structuredContent": {"rows": [1, 2.5, None]}, "_meta": {"a": 1}},
        {"content": [{"type": "resource", "resource": {"uri": "a://b", "text": "x"}}, {"type": "image"}]},
    )  # fmt: skip
    errors = (
        {"code": -32602, "message": "Invalid params", "data": [{"path": ["a"]}]},
        {"code": -32601, "message": "no"},
    )
    lines = [{"jsonrpc": "2.0", "id": 1, "result": result} for result in results]
    return [json.dumps(line).encode() for line in (*lines, *({"id": 1, "error": error} for error in errors))]


_OWN: Final[dict[str, Callable[[], list[bytes]]]] = {
    "fleet": _own_fleets,
    "recording": _own_recordings,
    "cassette": _own_cassettes,
    "answer": _own_answers,
}
