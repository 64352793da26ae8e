"""Every stream has a limit, and what a server leaves behind can be removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replay.interpreter.session.stderr_log import MAX_LOG_BYTES, RedactedLog
from replay.interpreter.workspace import _remove
from replay.recorder.line_pump import LineSplitter
from replay.redaction import Redactor
from tests.recorder.raw_client import connect, proxy_command, recorded


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


def test_directories_that_nobody_may_enter_are_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "a" / "b" / "c").mkdir(parents=True)
    (home / "a" / "b" / "file").write_text("x")
    for path in (home / "a" / "b" / "c", home / "a" / "b", home / "a"):
        path.chmod(0)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.getuid() == 0:
                os.chown(home, 65534, 65534)
                for path in (home / "a", home / "a" / "b", home / "a" / "b" / "c", home / "a" / "b" / "file"):
                    os.chown(path, 65534, 65534)
                tmp_path.chmod(0o777)
                for parent in tmp_path.parents:
                    if parent.stat().st_uid == 0 and "pytest" in str(parent):
                        parent.chmod(0o755)
                os.setuid(65534)
            _remove(home)
            status = int(home.exists())
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("mode", ["error-message.lone-surrogate", "content.deep-list-300", "tool-name.lone-surrogate"])
def test_the_recorder_outlives_what_its_server_sends(tmp_path: Path, mode: str) -> None:
    from tests.hostile.runner import over_stdio

    spec, output = over_stdio(mode), tmp_path / "run.trajectory.json"
    with connect(proxy_command(output, command=(spec["command"], *spec["args"]))) as client:
        client.initialize()
        client.request("tools/list", {})
        client.call("work", a="x")
        assert client.close() == 0
    [call] = recorded(output).calls()
    assert call.answer is not None
