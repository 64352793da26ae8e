"""Every stream has a limit, and what a server leaves behind can be removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.errors import FleetError
from replay.interpreter import Fleet
from replay.interpreter.session.stderr_log import MAX_LOG_BYTES, RedactedLog
from replay.recorder.line_pump import LineSplitter
from replay.safety.redaction import Redactor
from tests.hostile.runner import classify, over_stdio, problems_of
from tests.recorder.raw_client import connect, proxy_command, recorded

_FEW_FILES = 200
_LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))


def test_a_line_that_is_too_long_goes_on_in_pieces_and_the_next_is_read() -> None:
    splitter = LineSplitter(max_length=10)
    assert splitter.feed(b"one\n0123456") == (b"", [b"one\n"])
    assert splitter.overlong_part() == b""
    assert splitter.feed(b"7890123") == (b"", [])
    assert splitter.overlong_part() == b"01234567890123"
    assert splitter.feed(b"more") == (b"more", [])
    assert splitter.feed(b" end\ntwo\nth") == (b" end\n", [b"two\n"])
    assert splitter.overlong_part() == b""
    assert splitter.feed(b"ree\n") == (b"", [b"three\n"])


def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = RedactedLog(path, Redactor())
    writer = os.dup(log.write_end)
    log.start()
    os.write(writer, b"the beginning\n")
    for _ in range(5 * MAX_LOG_BYTES // 65_536):
        os.write(writer, b"x" * 65_535 + b"\n")
    os.write(writer, b"the end\n")
    os.close(writer)
    log._thread.join()
    kept = path.read_bytes()
    assert kept.startswith(b"the beginning\n")
    assert kept.endswith(b"the end\n")
    assert b"bytes left out" in kept
    assert len(kept) <= 2 * MAX_LOG_BYTES + 65_536


@pytest.mark.parametrize("mode", ["error-message.lone-surrogate", "content.deep-list-300", "tool-name.lone-surrogate"])
def test_the_recorder_outlives_what_its_server_sends(tmp_path: Path, mode: str) -> None:
    spec, output = over_stdio(mode), tmp_path / "run.trajectory.json"
    with connect(proxy_command(output, command=(spec["command"], *spec["args"]))) as client:
        client.initialize()
        client.request("tools/list", {})
        client.call("work", a="x")
        assert client.close() == 0
    [call] = recorded(output).calls()
    assert call.answer is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_LAUGHS, "anchors"),
        (f"servers: {{s: {{command: x, max_restarts: {'9' * 5000}}}}}", "cannot be read"),
        ("servers: {s: " + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
    ],
    ids=["billion laughs", "integer of 5000 digits", "deep"],
)
def test_a_fleet_file_made_to_exhaust_its_reader_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "servers.yaml"
    path.write_text(text)
    with pytest.raises(FleetError, match=words):
        Fleet.load(path)


def test_more_jobs_than_open_files_allow_are_not_begun(tmp_path: Path) -> None:
    server = {**over_stdio("ordinary"), "effects": "all", "state": "trajectory"}
    (tmp_path / "servers.yaml").write_text(json.dumps({"version": 1, "servers": {"s": server}}))
    step = {"step": 1, "calls": [{"name": "s/work", "arguments": {}}]}
    records = [{"id": f"t{number}", "question": "?", "steps": [step]} for number in range(24)]
    (tmp_path / "results.json").write_text(json.dumps(records))
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({_FEW_FILES}, {_FEW_FILES}))"
    command = [sys.executable, "-c", f"{limit}; from replay.cli import main; main()", "classify", "results.json"]
    done = subprocess.run(
        [*command, "--jobs", "256", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "instead of 256" in done.stderr
    assert {row["outcome"] for row in json.loads(done.stdout)["calls"]} == {"success"}


@pytest.mark.parametrize("url", ["http://[bad", "ftp://x", "http://"])
def test_a_url_that_is_none_costs_only_its_own_calls(tmp_path: Path, url: str) -> None:
    run = classify(tmp_path, {"bad-url": {"url": url}})
    assert problems_of(run, ["bad-url"]) == []
    assert run.verdicts["bad-url"]["reason"] == "server-unavailable"
