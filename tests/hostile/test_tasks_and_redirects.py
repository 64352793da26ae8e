"""A results file that names a folder elsewhere as its task, and a server that has a call sent again and again."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from replay.errors import FleetError
from replay.interpreter import Fleet
from replay.interpreter import workspace as workspaces
from replay.interpreter.config.fleet import VariableScope
from replay.interpreter.workspace import workspace_of

pytestmark = pytest.mark.anyio
Replay = Callable[..., subprocess.CompletedProcess[str]]
REFUSED = [
    "..", ".", "", "../..", "../../../etc", "/etc/passwd", "a/b", "a/../../b", "a\0b", "\0", "..\\..", "a\\b", "C:\\x",
    "~", "~root", "-rf", "--output=/etc/x", "a\nb", "a\rb", "\x1b[2J", "x" * 256, "é" * 128, "\ud800", "/", "//host/x",
    "./x", "x/", "..\0",
]  # fmt: skip
TAKEN = [
    "t1",
    "task 1",
    "..x",
    "...",
    "a.b",
    "1",
    "é",
    "漢字",
    "a:b",
    "x" * 255,
    "a~b",
    "a-b",
    "%2e%2e%2f",
    "$HOME",
    "${task}",
    "*",
]


def fleet_with(tmp_path: Path, **fields: Any) -> Fleet:
    spec = {"command": sys.executable, "args": ["-c", "pass"], "state": "trajectory", "effects": "all", **fields}
    path = tmp_path / "servers.yaml"
    path.write_text(json.dumps({"version": 1, "servers": {"s": spec}}))
    return Fleet.load(path)


FIELDS: dict[str, dict[str, Any]] = {
    "args": {"args": ["--root", "/data/${task}/db"]},
    "env": {"env": {"ROOT": "/data/${task}"}},
    "cwd": {"cwd": "work/${task}"},
    "writable": {"effects": "sandboxed", "writable": ["/data/${task}"]},
    "headers": {"command": None, "args": [], "url": "http://127.0.0.1:9/", "headers": {"X-Task": "${task}"}},
    "url": {"command": None, "args": [], "url": "http://127.0.0.1:9/${task}/mcp"},
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("task", REFUSED, ids=ascii)
def test_a_task_that_is_not_the_name_of_a_folder_starts_no_server(tmp_path: Path, field: str, task: str) -> None:
    fleet = fleet_with(tmp_path, **FIELDS[field])
    with pytest.raises(FleetError, match="not the name of a folder") as refused:
        fleet.resolve("s", VariableScope(tmp_path, task))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("task", TAKEN, ids=ascii)
def test_other_tasks_stay_below_the_folder_that_the_fleet_file_names(tmp_path: Path, task: str) -> None:
    for field in ("args", "env", "cwd"):
        resolved = fleet_with(tmp_path, **FIELDS[field]).resolve("s", VariableScope(tmp_path, task))
        written = {"args": resolved.args[-1], "env": resolved.env.get("ROOT", ""), "cwd": str(resolved.cwd)}[field]
        folder = tmp_path / "work" if field == "cwd" else Path("/data")
        assert Path(os.path.normpath(written)).is_relative_to(folder)
        assert task in written


@pytest.mark.parametrize("task", ["a?b=c", "x#y", "evil.example@x", "a%2e", "a b", "é"])
def test_a_task_is_one_segment_of_an_address(tmp_path: Path, task: str) -> None:
    resolved = fleet_with(tmp_path, **FIELDS["url"]).resolve("s", VariableScope(tmp_path, task))
    assert resolved.url is not None
    assert resolved.url.startswith("http://127.0.0.1:9/")
    assert not set("?#@ é") & set(resolved.url)


def test_a_results_file_whose_id_leads_elsewhere_is_judged_and_its_server_not_started(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path]
) -> None:
    fleet_file(book={"script": "logbook.py", "state": "trajectory", "env": {"LOGBOOK": str(tmp_path / "${task}.log")}})
    step = {"step": 1, "calls": [{"name": "book/put", "arguments": {"n": "1"}, "result": "ok"}]}
    ids = [task for task in REFUSED if task and "\ud800" not in task]
    tasks = [{"id": task, "question": "?", "steps": [step]} for task in (*ids, "sound")]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    done = replay("classify", "a.json", "--json", "--allow-effects", "book")
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)["calls"]
    assert [call["outcome"] for call in calls].count("inconclusive") == len(ids)
    assert [path.name for path in tmp_path.glob("**/*.log")] == ["sound.log"]


@pytest.mark.parametrize("task", [*REFUSED, "../templates2"], ids=ascii)
async def test_no_template_of_another_folder_is_copied(tmp_path: Path, task: str) -> None:
    for name in ("templates/t", "templates2", "b"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    fleet = fleet_with(tmp_path)
    fleet = fleet.model_copy(update={"workspace": fleet.workspace.model_copy(update={"template": "templates/${task}"})})
    async with workspace_of(fleet, task) as workspace:
        assert list(workspace.path.iterdir()) == []
        assert workspace.note is not None
    async with workspace_of(fleet, "t") as workspace:
        assert [path.name for path in workspace.path.iterdir()] == ["file"]


@pytest.mark.parametrize("kind", ["fifo", "socket", "big"])
async def test_a_template_holds_files_of_bounded_size(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "_MAX_TEMPLATE_BYTES", 1 << 20)
    folder = tmp_path / "template"
    folder.mkdir()
    if kind == "fifo":
        os.mkfifo(folder / "x")
    elif kind == "socket":
        os.mknod(folder / "x", 0o140600)
    else:
        for name in "abc":
            with (folder / name).open("wb") as file:
                file.truncate(1 << 19)
    fleet = fleet_with(tmp_path)
    fleet = fleet.model_copy(update={"workspace": fleet.workspace.model_copy(update={"template": "template"})})
    with pytest.raises(FleetError, match="template"):
        async with workspace_of(fleet, "t"):
            pass


# --- redirects


class Redirecting(BaseHTTPRequestHandler):
    """An MCP server that has each call sent on, in the way that its path says."""

    calls: ClassVar[Counter[str]] = Counter()
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self.reply(202, b"")
        elif message["method"] == "initialize":
            result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            self.result(message, {**result, "serverInfo": {"name": "s", "version": "1"}})
        elif message["method"] == "tools/list":
            self.result(message, {"tools": [{"name": "put", "inputSchema": {"type": "object"}}]})
        elif message["method"] == "tools/call":
            self.call(message)
        else:
            self.reply(404, b"")

    def call(self, message: dict[str, Any]) -> None:
        type(self).calls[message["params"]["arguments"]["n"]] += 1
        _, status, way, *_ = self.path.split("?")[0].split("/")
        host = self.headers["host"]
        to = {
            "query": f"/{status}/query/mcp?{sum(self.calls.values())}",
            "path": f"/{status}/path/{sum(self.calls.values())}",
            "absolute": f"http://{host}/{status}/absolute/{sum(self.calls.values())}",
            "relative": f"./{sum(self.calls.values())}",
            "once": f"/{status}/plain/mcp",
            "scheme": f"//{host}/{status}/scheme/{sum(self.calls.values())}",
            "itself": self.path,
            "nowhere": "",
            "elsewhere": "http://elsewhere.invalid/mcp",
        }
        if way == "plain":
            self.result(message, {"content": [{"type": "text", "text": "done"}]})
        else:
            self.reply(int(status), b"", location=to[way])

    def result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.reply(200, b"")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def redirecting() -> Iterator[str]:
    Redirecting.calls.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


WAYS = ["query", "path", "absolute", "relative", "once", "scheme", "itself", "nowhere", "elsewhere", "plain"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_call_reaches_a_server_that_redirects_it_once(
    tmp_path: Path, replay: Replay, redirecting: str, status: int
) -> None:
    servers = {way: {"url": f"{redirecting}/{status}/{way}/mcp", "effects": "all"} for way in WAYS}
    (tmp_path / "servers.yaml").write_text(json.dumps({"version": 1, "servers": servers}))
    steps = [
        {"step": turn, "calls": [{"name": f"{way}/put", "arguments": {"n": f"{way}{turn}"}, "result": "ok"}]}
        for way in WAYS
        for turn in (1, 2)
    ]
    (tmp_path / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": steps}]))
    for _ in range(2):  # nor by a run that goes on
        done = replay("classify", "a.json", "--json", *(word for way in WAYS for word in ("--allow-effects", way)))
        assert done.returncode == 0, done.stderr
        assert set(Redirecting.calls.values()) == {1}, Redirecting.calls
    if status in {307, 308}:
        assert any("is not sent again" in call["message"] for call in json.loads(done.stdout)["calls"])
    assert set(Redirecting.calls) == {f"{way}{turn}" for way in WAYS for turn in (1, 2)}


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(20))
def test_random_task_ids_never_leave_the_folder(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    fleet = fleet_with(tmp_path, cwd="work/${task}/x", args=["${task}"], env={"A": "/data/${task}/y"})
    for _ in range(500):
        task = "".join(dice.choices("../\\~-\0\n%2e" + string.ascii_letters + "é／．", k=dice.randint(0, 12)))
        try:
            resolved = fleet.resolve("s", VariableScope(tmp_path, task))
        except FleetError:
            continue
        assert Path(os.path.normpath(str(resolved.cwd))).parent.parent == tmp_path / "work", ascii(task)
        assert Path(os.path.normpath(resolved.env["A"])).parent.parent == Path("/data"), ascii(task)
        assert not resolved.args[0].startswith(("-", "/", "~"))
