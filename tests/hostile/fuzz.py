"""Fuzzes the doors with files and answers that are nearly right: `python -m tests.hostile.fuzz SECONDS [DOOR...]`.

Seeds are the sample trajectories of the project, real files where the shared data is there, and what earlier runs
found interesting (`.fuzz-corpus/`, which grows). Each is mutated in its structure (a value replaced, wrapped, repeated,
moved, dropped) and in its bytes. A door must answer with a value, or with an error that says what is wrong; anything
else is written to `.fuzz-corpus/failures/`, and the exit code is 1.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from replay.cassette import read_cassette
from replay.dag import infer_edges
from replay.errors import ReplayError
from replay.formats import open_file
from replay.input_schema import check_schema
from replay.interpreter import Fleet
from replay.interpreter.session.answer_reader import answer_of
from replay.interpreter.session.json_rpc import Failed, Returned
from replay.interpreter.session.stdio import _message_of
from replay.json_values import bounded, parse_json
from replay.outcomes import judge_answer
from replay.recorder.assembly import write_trajectory
from replay.records import Call, Tool, canonical
from replay.redaction import Redactor
from tests.hostile.modes import PAYLOADS

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / ".fuzz-corpus"
SHARED = Path(os.environ.get("REPLAY_SHARED", ROOT.parent / "shared")) / "data"
_MAX_SEED_BYTES = 200_000
_MAX_SECONDS_OF_ONE = 10.0


def read_results(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    for trajectory in open_file(path).trajectories():
        canonical(trajectory.model_dump(mode="json")).encode()
        infer_edges(trajectory)


def read_fleet(data: bytes, path: Path) -> None:
    path = path.with_suffix(".yaml")
    path.write_bytes(data)
    Fleet.load(path).secrets()


def read_stored(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    read_cassette(path)


def read_recording(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    write_trajectory(path, path.with_name("out.trajectory.json"))


def receive(data: bytes, path: Path) -> None:
    """A line of a server, through to its verdict and what is stored of it."""
    message = _message_of(data)
    if not isinstance(message, dict):
        return
    error = message.get("error")
    reply = Failed(error) if isinstance(error, dict) else Returned(message.get("result"))
    answer = answer_of(reply, lambda note: None)
    arguments = bounded(message.get("result")) if isinstance(message.get("result"), dict) else {}
    tool = Tool(name="t", input_schema=message.get("result"))
    call = Call(position="s1c1", name="s/t", arguments=arguments, answer=answer)
    verdict = judge_answer(
        call, answer, evidence="replay", tool=tool, violations=check_schema(tool, arguments).violations
    )
    for record in (answer, tool, call, verdict):
        canonical(Redactor().json(record.model_dump(mode="json"))).encode()
    verdict.message.encode()


DOORS: dict[str, Callable[[bytes, Path], None]] = {
    "results": read_results,
    "fleet": read_fleet,
    "cassette": read_stored,
    "recording": read_recording,
    "answer": receive,
}


def seeds() -> dict[str, list[bytes]]:
    """What is mutated, by door."""
    found: dict[str, list[bytes]] = {door: [] for door in DOORS}
    results = [*ROOT.glob("traces/*.json"), *SHARED.glob("m3bench/*.json"), *SHARED.glob("toolathlon/**/*.json*")]
    results += SHARED.glob("formats/**/*.json*")
    found["results"] = [data for path in results if (data := _small(path)) is not None]
    found["fleet"] = [(ROOT / "servers.yaml").read_bytes()]
    found["answer"] = [_line(result) for result in _RESULTS]
    header = {"format": "replay.recording", "version": 1, "id": "a", "model": "m", "task": "t"}
    events = [
        {"event": "identity", "t": 0, "message": {"result": {"serverInfo": {"name": "s", "version": "1"}}}},
        {"event": "tools", "t": 0, "first": True, "message": {"result": {"tools": [{"name": "t", "inputSchema": {}}]}}},
        {"event": "call", "t": 0.1, "n": 1, "message": {"id": 1, "params": {"name": "t", "arguments": {"a": 1}}}},
        {"event": "answer", "t": 0.2, "n": 1, "message": {"result": {"content": [{"type": "text", "text": "x"}]}}},
    ]
    found["recording"] = [b"".join(json.dumps(entry).encode() + b"\n" for entry in (header, *events))]
    cassette = {"format": "replay.cassette", "version": 1, "fleet": {}, "servers": [{"name": "s"}]}
    stored = {"key": "k", "server": "s", "tool": "t", "answer": {"kind": "result", "content": []}}
    found["cassette"] = [json.dumps(cassette).encode() + b"\n" + json.dumps(stored).encode() + b"\n"]
    for path in CORPUS.glob("*-*"):
        found.setdefault(path.name.partition("-")[0], []).append(path.read_bytes())
    return found


_RESULTS: tuple[Any, ...] = (
    {"content": [{"type": "text", "text": "hello"}]},
    {"content": [{"type": "text", "text": '{"error": "not found", "status": 404}'}], "isError": True},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}, "$ref": "#", "required": ["a"]},
    {"content": [], "structuredContent": {"rows": [1, 2.5, None]}},
)


def _line(result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def _small(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and path.stat().st_size <= _MAX_SEED_BYTES else None


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Something near: mutated in its structure where it is JSON or JSON Lines, else in its bytes."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        data = _mutated_structure(data, dice) if dice.random() < 0.8 else _mutated_bytes(data, dice)
    return data


def _mutated_structure(data: bytes, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    whole = True
    try:
        value = parse_json(data)
    except ValueError:
        whole = False
        try:
            value = parse_json(lines[place])
        except ValueError:
            return _mutated_bytes(data, dice)
    token = "@@here@@"
    _put(value, token, dice)
    payload = dice.choice(list(PAYLOADS.values()))()
    text = json.dumps(value, ensure_ascii=dice.random() < 0.5).replace(f'"{token}"', payload[:20_000])
    changed = text.encode("utf-8", "replace")
    return changed if whole else b"\n".join([*lines[:place], changed, *lines[place + 1 :]])


def _put(value: Any, token: str, dice: random.Random) -> None:
    """Change one place of a value, in place."""
    holders = _holders(value)
    if not holders:
        return
    holder = dice.choice(holders)
    keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key, other = dice.choice(keys), dice.choice(keys)
    match dice.randrange(6):
        case 0 | 1:
            holder[key] = token
        case 2:
            holder[key] = [holder[key]]
        case 3:
            holder[key] = {"error": holder[key]}
        case 4:
            holder[key], holder[other] = holder[other], holder[key]
        case _:
            del holder[key]


def _holders(value: Any) -> list[Any]:
    found, level = [], [value]
    while level:
        item = level.pop()
        if isinstance(item, dict | list) and item:
            found.append(item)
            level.extend(item.values() if isinstance(item, dict) else item)
    return found


def _mutated_bytes(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data or b"{}")
    place = dice.randrange(len(changed))
    match dice.randrange(4):
        case 0:
            changed[place] = dice.randrange(256)
        case 1:
            del changed[place : place + dice.randrange(1, 40)]
        case 2:
            changed[place:place] = dice.choice((b"\xff", b"\x00", b"[", b"{", b'"', b"\xe2\x80\xa8", b"\xed\xa0\x80"))
        case _:
            changed = changed[:place]
    return bytes(changed)


def main() -> int:
    """Fuzz, and say how much was tried and what failed."""
    seconds = float(sys.argv[1]) if sys.argv[1:] else 60.0
    chosen = sys.argv[2:] or list(DOORS)
    dice = random.Random(time.time_ns())
    corpus = seeds()
    tried: Counter[str] = Counter()
    outcomes: set[str] = set()
    failures: Counter[str] = Counter()
    (CORPUS / "failures").mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as home:
        while time.monotonic() < deadline:
            door = chosen[sum(tried.values()) % len(chosen)]
            data = mutated(dice.choice(corpus[door]), dice)
            tried[door] += 1
            started = time.monotonic()
            result = _try(DOORS[door], data, Path(home) / "input.json")
            if time.monotonic() - started > _MAX_SECONDS_OF_ONE:
                result = "failed: took too long"
            name = f"{door}-{hashlib.sha256(data).hexdigest()[:16]}"
            if result.startswith("failed"):
                failures[f"{door}: {result}"] += 1
                if failures[f"{door}: {result}"] <= 3:
                    (CORPUS / "failures" / name).write_bytes(data)
            elif f"{door} {result}" not in outcomes:
                outcomes.add(f"{door} {result}")
                corpus[door].append(data)
                (CORPUS / name).write_bytes(data)
    for door in chosen:
        print(f"{door}: {tried[door]} inputs, {sum(name.startswith(door) for name in outcomes)} kinds of outcome")
    for failure, count in failures.most_common():
        print(f"{count} x {failure}")
    return int(bool(failures))


def _try(door: Callable[[bytes, Path], None], data: bytes, path: Path) -> str:
    """What came of an input: `read`, the shape of the error, or `failed` and why."""
    try:
        door(data, path)
    except ReplayError as problem:
        return "refused: " + "".join(letter for letter in str(problem)[-60:] if letter.isalpha() or letter == " ")[:40]
    except Exception as problem:
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
        return f"failed: {type(problem).__name__} at {place}"
    return "read"


if __name__ == "__main__":
    sys.exit(main())
