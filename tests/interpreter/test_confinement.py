"""A server that says `sandboxed` writes to its workspace and to what the fleet file allows, whatever it is asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from replay.interpreter import interpreter as module
from replay.interpreter.confinement import caches_of, can_confine, first_path_below, first_path_outside
from tests.interpreter.conftest import answer_text, server

pytestmark = pytest.mark.anyio
kernel_only = pytest.mark.skipif(not can_confine(), reason="the kernel has no Landlock that forbids all writing")

ATTEMPTS = {
    "an absolute path": "open('{outside}/new', 'w').write('x')",
    "a way up": "open('../../../../../../../../../../..' + '{outside}/new', 'w').write('x')",
    "a link of its own": "import os; os.symlink('{outside}', 'way'); open('way/new', 'w').write('x')",
    "overwriting": "open('{outside}/kept', 'w').write('x')",
    "appending": "open('{outside}/kept', 'a').write('x')",
    "cutting to nothing": "import os; os.truncate('{outside}/kept', 0)",
    "removing": "import os; os.remove('{outside}/kept')",
    "removing a directory": "import os; os.rmdir('{outside}/empty')",
    "renaming there": "import os; open('mine', 'w').close(); os.rename('mine', '{outside}/new')",
    "moving away": "import os; os.rename('{outside}/kept', 'mine')",
    "a hard link, then writing": "import os; os.link('{outside}/kept', 'mine'); open('mine', 'w').write('x')",
    "a directory": "import os; os.mkdir('{outside}/new')",
    "a link there": "import os; os.symlink('/', '{outside}/new')",
    "a pipe": "import os; os.mkfifo('{outside}/new')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('{outside}/new')",
    "another program": "import subprocess; subprocess.run(['sh', '-c', 'echo x > {outside}/new'], check=True)",
    "a process of a session of its own": (
        "import subprocess; subprocess.run(['sh', '-c', 'echo x > {outside}/new'], start_new_session=True, check=True)"
    ),
    "a database": (
        "import sqlite3; db = sqlite3.connect(':memory:'); db.execute(\"ATTACH '{outside}/new' AS n\"); "
        "db.execute('CREATE TABLE n.t(a)')"
    ),
    "its own memory": "open('/proc/self/oom_score_adj', 'w').write('500')",
    "the directory for temporary files of everybody": "open('/tmp/replay-confinement-test', 'w').write('x')",
    "shared memory": "open('/dev/shm/replay-confinement-test', 'w').write('x')",
}


@kernel_only
@pytest.mark.parametrize("state", ["trajectory", "none"])
async def test_nothing_outside_is_written_whatever_the_server_tries(host, tmp_path: Path, state: str) -> None:
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    (outside / "kept").write_text("kept")
    async with host({"s": server("runs_code", effects="sandboxed", state=state)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            for name, attempt in ATTEMPTS.items():
                answer = await sandbox.call("s", "run", {"code": attempt.format(outside=outside)})
                assert answer_text(answer) != "done", name
                assert sorted(path.name for path in outside.iterdir()) == ["empty", "kept"], name
                assert (outside / "kept").read_text() == "kept", name


@kernel_only
@pytest.mark.parametrize("state", ["trajectory", "none"])
async def test_the_workspace_temporary_files_and_what_the_fleet_allows_can_be_written(
    host, tmp_path: Path, state: str
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    code = [
        "open('a', 'w').write('x'); import os; os.rename('a', 'b'); os.mkdir('d'); os.rename('b', 'd/b')",
        "import tempfile; tempfile.NamedTemporaryFile().write(b'x')",
        "import tempfile; assert open(tempfile.mkdtemp() + '/a', 'w').write('x')",
        f"open('{allowed}/a', 'w').write('x')",
        "open('/dev/null', 'w').write('x')",
        "import subprocess; subprocess.run(['true'], stdout=subprocess.DEVNULL, check=True)",
        f"open({str(tmp_path / 'servers.yaml')!r}, 'a') if False else open('/etc/hostname').read()",
    ]
    async with host({"s": server("runs_code", effects="sandboxed", state=state, writable=["allowed"])}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answers = [answer_text(await sandbox.call("s", "run", {"code": line})) for line in code]
    assert answers == ["done"] * len(code)
    assert (allowed / "a").read_text() == "x"


@kernel_only
async def test_a_program_that_fetches_packages_starts_where_it_never_kept_any(
    host, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    spec = server("runs_code", effects="sandboxed", state="trajectory")
    npx = tmp_path / "npx"
    npx.write_text(f'#!/bin/sh\nset -e\nmkdir -p "$HOME/.npm/_npx"\nexec {sys.executable} "$@"\n')
    npx.chmod(0o755)
    async with host({"s": {**spec, "command": str(npx)}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("s", "run", {"code": "pass"})) == "done"


@pytest.mark.parametrize("effects", ["all", "read-only"])
async def test_a_server_that_is_not_sandboxed_is_not_confined(host, tmp_path: Path, effects: str) -> None:
    async with host({"s": server("runs_code", effects=effects)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("s", "run", {"code": f"open('{tmp_path}/new', 'w').write('x')"})
    assert answer_text(answer) == "done"


LEADS_OUTSIDE: list[Any] = [
    "/anywhere/x.xlsx",
    "/workspace/../../x",
    "../x",
    "a/../../x",
    "~/x",
    "~root/x",
    "$HOME/x",
    "${HOME}/x",
    "/",
    "..",
    "ATTACH '/x.db' AS x",
    'ATTACH DATABASE "../x.db" AS x',
    "ATTACH 'file:/x.db?mode=rwc' AS x",
    "file:///x.db",
    "%2Fx.db",
    "..%2Fx",
    "..\\x",
    "C:\\x",
    "\\\\host\\share",
    "cat a > /x",
    "save to=/x",
    "/a b/c",
    "x\0/../../y",
    {"deep": [{"path": "/x"}]},
    {"/x": 1},
    "way/x",
]
STAYS_INSIDE: list[Any] = [
    "x.xlsx",
    "/workspace/x.xlsx",
    "/workspace/a/../x",
    "./a/b",
    "a..b",
    "either/or",
    "1/2",
    "https://example.org/a/b",
    "SELECT a/b FROM t",
    "wait...",
    "10 $ and more",
    5,
    None,
    {"a": ["b", True]},
]


@pytest.fixture
def without_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "can_confine", lambda: False)


@pytest.mark.parametrize(
    ("value", "inside"),
    [(value, False) for value in LEADS_OUTSIDE] + [(value, True) for value in STAYS_INSIDE],
    ids=repr,
)
async def test_without_the_kernels_help_a_path_outside_is_found_in_the_arguments(
    host, without_kernel: None, value: Any, inside: bool
) -> None:
    async with (
        host(
            {"s": server("raw", effects="sandboxed", state="trajectory")}, workspace={"recorded_as": ["/workspace"]}
        ) as interpreter,
        interpreter.sandbox("t") as sandbox,
    ):
        (sandbox.workspace / "way").symlink_to("/")
        assert (sandbox.forbidden_path("s", {"value": value}) is None) == inside


async def test_what_the_fleet_allows_is_not_outside(host, without_kernel: None, tmp_path: Path) -> None:
    spec = server("raw", effects="sandboxed", state="trajectory", writable=["allowed"])
    async with host({"s": spec}) as interpreter, interpreter.sandbox("t") as sandbox:
        assert sandbox.forbidden_path("s", {"path": str(tmp_path / "allowed" / "x")}) is None
        assert sandbox.forbidden_path("s", {"path": str(tmp_path / "allowed" / ".." / "x")}) is not None


@kernel_only
async def test_no_call_may_name_a_path_in_the_cache_that_a_server_starts_from(
    host, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    spec = {"command": "uvx", "args": ["x"], "effects": "sandboxed", "state": "trajectory"}
    async with host({"s": spec}) as interpreter, interpreter.sandbox("t") as sandbox:
        assert sandbox.forbidden_path("s", {"path": "x.xlsx"}) is None
        assert sandbox.forbidden_path("s", {"path": str(tmp_path / "cache" / "archive-v0" / "x.py")}) is not None
        assert sandbox.forbidden_path("s", {"path": "/anywhere/x.xlsx"}) is None  # the kernel refuses that


@pytest.mark.parametrize(
    ("program", "env", "caches"),
    [
        ("/bin/uvx", {"HOME": "/h"}, ["/h/.cache/uv", "/h/.local/share/uv"]),
        ("uv", {"HOME": "/h", "UV_CACHE_DIR": "/c", "XDG_DATA_HOME": "/d"}, ["/c", "/d/uv"]),
        ("npx", {"HOME": "/h"}, ["/h/.npm"]),
        ("npx", {"HOME": "/h", "npm_config_cache": "/n"}, ["/n"]),
        ("python", {"HOME": "/h"}, []),
    ],
)
def test_only_programs_that_fetch_packages_have_caches(program: str, env: dict[str, str], caches: list[str]) -> None:
    assert [str(path) for path in caches_of(program, env)] == caches


def test_a_path_is_looked_for_at_any_depth_and_a_flood_of_them_is_not_followed_to_its_end(tmp_path: Path) -> None:
    assert first_path_outside({"a": ["b"] * 5 + [{"c": "/x"}]}, tmp_path, ()) == "/x"
    assert first_path_outside([f"{tmp_path}/{number}" for number in range(20_000)], tmp_path, ()) is not None
    assert first_path_below({"a": "b"}, tmp_path, ()) is None
