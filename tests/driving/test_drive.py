"""`replay drive`, against a scripted endpoint and a real MCP server; what it records is classified and aligned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.driving.protocols import DriveProtocol
from replay.formats import open_file
from replay.records import Call
from tests.conftest import record
from tests.servers.openai_protocol import Reply, in_turn, scripted

Replay = Callable[..., subprocess.CompletedProcess[str]]
NOTE = {"path": "/workspace/a.txt", "text": "14 kettles"}
WRITE, READ = ("notes/write", NOTE), ("notes/read", {"path": "/workspace/a.txt"})
ABSENT = ("notes/read", {"path": "/workspace/absent.txt"})


@pytest.fixture
def fleet(fleet_file: Callable[..., Path]) -> Path:
    notes = {"script": "notes.py ${workspace}", "state": "trajectory", "effects": "sandboxed"}
    return fleet_file(notes=notes, workspace={"recorded_as": ["/workspace"]})


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "reference.json"
    steps = [[WRITE], [READ]]
    path.write_text(json.dumps([record("note", steps, "Write 14 kettles to /workspace/a.txt, and read it back.")]))
    return path


@pytest.fixture
def drive(replay: Replay, fleet: Path, tasks: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(url: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
        words = ("--model", "tea-7b", "--base-url", url, "--servers", fleet, "-o", "out")
        return replay("drive", tasks, *words, *more)

    return run


def function(call: tuple[str, Any]) -> tuple[str, str]:
    return call[0].replace("/", "__"), json.dumps(call[1])


def m3_step(*calls: tuple[str, Any]) -> Reply:
    return Reply(json.dumps({"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}))


def mcpbench_round(*calls: tuple[str, Any]) -> Reply:
    planned = [{"tool": name, "parameters": arguments} for name, arguments in calls]
    return Reply(json.dumps({"reasoning": "so", "should_continue": True, "planned_tools": planned}))


NATIVE = [
    Reply("I write it.", (("notes__write", '{"path": "/workspace/a.t'),)),
    Reply("", (("notes__scribble", "{}"),)),
    Reply("", (function(WRITE),)),
    Reply("", (function(READ), function(ABSENT))),
    Reply("There are 14 kettles."),
]
M3 = [
    *(Reply('{"tools": ["notes/write"]}'), Reply('<tool_call>{"tool_calls": []}</tool_call>'), Reply("no")),
    *(Reply('{"tools": ["notes/scribble"]}'), m3_step(("notes/scribble", {})), Reply("no")),
    *(Reply('{"tools": ["notes/write"]}'), m3_step(WRITE), Reply("No.")),
    *(Reply('{"tools": ["notes/read"]}'), m3_step(READ, ABSENT), Reply("Yes")),
    Reply("There are 14 kettles."),
]
MCPBENCH = [
    Reply("First I would write the file."),
    mcpbench_round(("notes/scribble", {})),
    mcpbench_round(WRITE),
    mcpbench_round(READ, ABSENT),
    Reply('{"should_continue": false, "planned_tools": []}'),
    Reply("There are 14 kettles."),
]


@pytest.mark.parametrize(("protocol", "replies"), [("native", NATIVE), ("m3", M3), ("mcpbench", MCPBENCH)])
def test_what_a_model_does_is_recorded_classified_and_aligned(
    drive: Callable[..., subprocess.CompletedProcess[str]],
    replay: Replay,
    fleet: Path,
    tasks: Path,
    tmp_path: Path,
    protocol: DriveProtocol,
    replies: list[Reply],
) -> None:
    with scripted(in_turn(*replies)) as server:
        done = drive(server.url, "--protocol", protocol)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == len(replies)
    trajectory = json.loads((tmp_path / "out" / "trajectories" / "note.trajectory.json").read_text())
    assert trajectory["final_reply"] == "There are 14 kettles."
    assert trajectory["usage"] == {"input_tokens": 100 * len(replies), "output_tokens": 10 * len(replies)}
    assert trajectory["reported"]["details"] == {
        "protocol": protocol,
        "own_prompt": f"{protocol}/1",
        "ended": "answered",
    }
    assert [len(step["calls"]) for step in trajectory["steps"]] == [1, 1, 1, 2]
    assert trajectory["steps"][3]["calls"][0]["answer"]["content"] == [{"type": "text", "text": "14 kettles"}]

    judged = replay("classify", "out/trajectories", "--servers", fleet, "--json")
    outcomes = [call["outcome"] for call in json.loads(judged.stdout)["calls"]]
    assert outcomes == ["illegal_format", "unknown_tool", "success", "success", "not_found"]
    aligned = replay("align", "out/trajectories", "--reference", tasks, "--json")
    (model,) = json.loads(aligned.stdout)["models"]
    assert (model["model"], model["aggregate"]["recall"], model["aggregate"]["matched"]) == ("tea-7b", 1.0, 2)
    results, recorded = (
        next(iter(open_file(tmp_path / "out" / name).trajectories()))
        for name in ("tea-7b_test_mcp_fuzzy.json", "trajectories/note.trajectory.json")
    )
    assert results.final_reply == recorded.final_reply
    assert list(map(written, results.calls())) == list(map(written, recorded.calls()))


def written(call: Call) -> tuple[object, ...]:
    return call.position, call.name, call.arguments, call.unreadable


def test_a_task_that_is_done_is_not_driven_again(drive: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with scripted(in_turn(Reply("It cannot be done."))) as server:
        assert drive(server.url).returncode == 0
        assert drive(server.url).returncode == 0
        assert len(server.requests) == 1
        other = drive(server.url, "--protocol", "m3")
    assert other.returncode == 2
    assert "holds what was driven with tea-7b by native; name another folder" in other.stderr


def test_limits_break_a_task_off_and_the_next_run_goes_on_with_it(
    drive: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    with scripted(in_turn(*NATIVE)) as server:
        broken_off = drive(server.url, "--max-calls", "4")
        assert broken_off.returncode == 4
        assert "1 not finished (note): the 4 requests of --max-calls are used up" in broken_off.stderr
        assert drive(server.url).returncode == 0
        assert len(server.requests) == len(NATIVE)
    trajectory = json.loads((tmp_path / "out" / "trajectories" / "note.trajectory.json").read_text())
    assert trajectory["final_reply"] == "There are 14 kettles."
    assert len(trajectory["steps"]) == 4


def test_a_task_that_is_killed_asks_nothing_twice_that_was_answered(
    drive: Callable[..., subprocess.CompletedProcess[str]], fleet: Path, tasks: Path, tmp_path: Path
) -> None:
    reached, hold, asked = threading.Event(), threading.Event(), 0

    def script(request: dict[str, Any]) -> Reply:
        nonlocal asked
        asked += 1
        if asked == 4:
            reached.set()
            return Reply(hold=hold)
        return NATIVE[asked - 1 - (asked > 4)]

    with scripted(script) as server:
        where = ["--base-url", server.url, "--servers", str(fleet), "-o", "out"]
        words = ["drive", str(tasks), "--model", "tea-7b", *where]
        process = subprocess.Popen(
            [sys.executable, "-m", "replay", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert reached.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        hold.set()
        done = drive(server.url)
        assert done.returncode == 0, done.stderr
        assert asked == len(NATIVE) + 1
    assert server.requests[3] == server.requests[4]
    trajectory = json.loads((tmp_path / "out" / "trajectories" / "note.trajectory.json").read_text())
    assert trajectory["steps"][3]["calls"][0]["answer"]["content"] == [{"type": "text", "text": "14 kettles"}]
    assert not list((tmp_path / "out" / "trajectories").glob(".*"))


def test_endpoints_that_read_the_protocol_to_the_letter_are_shown_the_functions_and_take_the_second_turn(
    drive: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """llama.cpp's Python server hides the functions without `tool_choice`, and refuses a message whose text is null."""
    with scripted(in_turn(Reply("", (function(WRITE),)), Reply("Done."))) as server:
        assert drive(server.url).returncode == 0
        first, second = server.requests
    assert first["tools"]
    assert first["tool_choice"] == "auto"
    assert second["messages"][2]["content"] == ""


def test_turns_are_limited(drive: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    with scripted(in_turn(Reply("", (function(WRITE),)))) as server:
        assert drive(server.url, "--max-turns", "3").returncode == 0
        assert len(server.requests) == 3
    trajectory = json.loads((tmp_path / "out" / "trajectories" / "note.trajectory.json").read_text())
    assert trajectory["reported"]["details"]["ended"] == "turn-limit"
    assert "final_reply" not in trajectory


def test_a_call_written_as_text_is_recorded_as_it_came(
    drive: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    written = '<tool_call>{"name": "notes__read", "arguments": {"path": "/workspace/a.txt"}}</tool_call>'
    with scripted(in_turn(Reply(written))) as server:
        assert drive(server.url).returncode == 0
    trajectory = json.loads((tmp_path / "out" / "trajectories" / "note.trajectory.json").read_text())
    (call,) = trajectory["steps"][0]["calls"]
    assert (call["unreadable"], call["raw"]) == ("call", written)
    assert trajectory["reported"]["details"]["ended"] == "unreadable"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401, error={"message": "bad key"}), "the key is refused"),
        (Reply(body=b'{"choices": [{"mess'), "the reply is not of the OpenAI protocol"),
        (
            Reply(status=400, error={"message": "long", "code": "context_length_exceeded"}),
            "the prompt is longer than the context of tea-7b",
        ),
    ],
)
def test_a_model_that_gives_no_reply_is_one_sentence(
    drive: Callable[..., subprocess.CompletedProcess[str]], reply: Reply, words: str
) -> None:
    with scripted(in_turn(reply)) as server:
        done = drive(server.url)
    assert done.returncode == 4
    assert f"1 not finished (note): {server.url}: {words}" in done.stderr


def test_long_answers_are_shortened_by_the_model_in_mcp_benchs_rounds(
    drive: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    long = {"path": "/workspace/a.txt", "text": "kettle " * 2_000}
    rounds = [mcpbench_round(("notes/write", long)), mcpbench_round(READ)]
    replies = [*rounds, Reply("2,000 kettles"), Reply("{}"), Reply("ok")]
    with scripted(in_turn(*replies)) as server:
        assert drive(server.url, "--protocol", "mcpbench", "--max-turns", "3").returncode == 0
        told = [request["messages"][1]["content"] for request in server.requests]
    assert told[2] == ("kettle " * 2_000).strip()
    assert "-> 2,000 kettles" in told[3]


def test_tools_with_effects_are_offered_only_where_they_are_allowed(
    replay: Replay, fleet_file: Callable[..., Path], tasks: Path
) -> None:
    fleet = fleet_file(bank="bank.py")
    words = ("--model", "m", "--servers", fleet)
    with scripted(in_turn(Reply("No."))) as server:
        shy = replay("drive", tasks, *words, "--base-url", server.url, "-o", "shy")
        bold = replay("drive", tasks, *words, "--base-url", server.url, "-o", "bold", "--allow-effects", "bank")
        offered = [len(request.get("tools", ())) for request in server.requests]
    assert (shy.returncode, bold.returncode) == (0, 0)
    assert offered[0] == 0
    assert offered[1] > 3
    assert "are not offered, since they may change something outside a sandbox" in shy.stderr


def test_a_tasks_image_lies_in_the_workspace_and_is_shown(replay: Replay, fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "poster.png").write_bytes(b"as far as anybody here looks, an image")
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps([{"id": "poster", "question": "Which film?", "image": "poster.png"}]))
    with scripted(in_turn(Reply("A film."))) as server:
        words = ("--model", "m", "--base-url", server.url, "--servers", fleet, "-o", "out")
        assert replay("drive", tasks, *words).returncode == 0
        text, image = server.requests[0]["messages"][1]["content"]
    assert text["text"] == "Which film?\n[image /workspace/poster.png]"
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
