"""One trajectory: its workspace, its own servers, and paths that were recorded elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from replay.errors import FleetError
from replay.interpreter import Exchange
from tests.interpreter.conftest import answer_text, fleet_of, parsed, server

pytestmark = pytest.mark.anyio

RECORDED = "/workspace/dumps/workspace"


def notes(**fields):
    return server("notes", "${workspace}", state="trajectory", **fields)


@pytest.fixture
def template(tmp_path):
    made = tmp_path / "workspaces" / "task-1"
    made.mkdir(parents=True)
    (made / "a.txt").write_text("from the template")
    return made


async def test_each_trajectory_has_a_fresh_copy_of_its_template_which_is_gone_afterwards(host, template):
    workspace = {"template": "workspaces/${task}", "recorded_as": [RECORDED]}
    async with host({"n": notes()}, workspace=workspace) as interpreter:
        await interpreter.start()
        for _ in range(2):
            async with interpreter.sandbox("t", "task-1", ["n"]) as sandbox:
                read = await sandbox.call("n", "read", {"path": f"{RECORDED}/a.txt"})
                assert answer_text(read) == "from the template"
                await sandbox.call("n", "write", {"path": f"{RECORDED}/a.txt", "text": "changed"})
                assert sandbox.note is None
                place = sandbox.workspace
            assert not place.exists()
    assert (template / "a.txt").read_text() == "from the template"


async def test_answers_speak_of_the_place_where_the_workspace_was_recorded(host):
    async with host({"n": notes()}, workspace={"recorded_as": [RECORDED, "/old"]}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            written = await sandbox.call("n", "write", {"path": "/old/a.txt", "text": "x"})
            assert answer_text(written) == f"Wrote {RECORDED}/a.txt"
            where = await sandbox.call("n", "where", {})
            assert parsed(where) == {"root": RECORDED, "cwd": RECORDED}
            assert where.structured == {"root": RECORDED, RECORDED: "as a key"}
            missing = await sandbox.call("n", "read", {"path": f"{RECORDED}/none"})
            assert answer_text(missing) == f"[Errno 2] No such file or directory: '{RECORDED}/none'"


async def test_without_recorded_places_answers_speak_of_a_stable_one(host):
    async with host({"n": notes()}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            where = await sandbox.call("n", "where", {})
    assert parsed(where)["root"] == "/workspace"


async def test_paths_outside_the_workspace_are_left_alone(host):
    async with host({"n": notes()}, workspace={"recorded_as": [RECORDED]}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("n", "read", {"path": f"{RECORDED}2/a.txt"})
    assert answer_text(answer) == f"Access denied: {RECORDED}2/a.txt is outside {RECORDED}"


async def test_shared_servers_see_the_arguments_untouched(host):
    async with host({"s": server("dies_in_call")}, workspace={"recorded_as": [RECORDED]}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("s", "echo", {"text": f"{RECORDED}/a"})) == f"{RECORDED}/a"


async def test_a_shared_server_may_have_a_workspace_too(host):
    spec = server("notes", "${workspace}")
    async with host({"n": spec}, workspace={"recorded_as": [RECORDED]}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("one") as one:
            await one.call("n", "write", {"path": f"{RECORDED}/a", "text": "kept"})
        async with interpreter.sandbox("two") as two:
            assert answer_text(await two.call("n", "read", {"path": f"{RECORDED}/a"})) == "kept"


async def test_servers_with_state_are_fresh_for_each_trajectory(host):
    async with host({"c": server("chain", state="trajectory")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("one") as one, interpreter.sandbox("two") as two:
            made = (await one.call("c", "create", {"name": "x"})).structured
            assert (await one.call("c", "get", {"id": made["id"]})).structured == made
            assert (await two.call("c", "get", {"id": made["id"]})).is_error


async def test_a_crash_restarts_a_trajectorys_own_server_in_the_same_workspace(host):
    async with host({"n": notes(), "d": server("dies_in_call", state="trajectory")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            await sandbox.call("n", "write", {"path": "/workspace/a", "text": "kept"})
            await sandbox._own["n"].stop()
            assert (await sandbox.call("d", "die", {})).fault == "closed"
            assert answer_text(await sandbox.call("n", "read", {"path": str(sandbox.workspace / "a")})) == "kept"


async def test_a_missing_template_leaves_the_workspace_empty_and_says_so(host, template):
    async with host({"n": notes()}, workspace={"template": "workspaces/${task}"}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t", "task-9") as sandbox:
            assert sandbox.note == "there is no workspace template workspaces/task-9, so the workspace is empty"
            assert list(sandbox.workspace.iterdir()) == []
            assert (await sandbox.call("n", "where", {})).kind == "result"


@pytest.mark.parametrize("task", ["../task-1", "..", "a/b", "/etc"])
async def test_a_task_id_cannot_lead_out_of_the_templates(host, template, task):
    workspace = {"template": "workspaces/${task}"}
    async with host({}, workspace=workspace) as interpreter, interpreter.sandbox("t", task) as sandbox:
        assert list(sandbox.workspace.iterdir()) == []
        assert sandbox.note == "the task id is not a directory name, so the workspace is empty"


async def test_a_template_that_cannot_be_copied_is_an_error_of_the_fleet_file(host, template):
    os.mkfifo(template / "pipe")
    async with host({}, workspace={"template": "workspaces/task-1"}) as interpreter:
        with pytest.raises(FleetError, match=r"workspace\.template"):
            async with interpreter.sandbox("t"):
                pass


async def test_task_and_workspace_stand_in_arguments_environment_and_directory(host, template, tmp_path):
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from raw import *; "
        "serve([tool('x')], lambda n, a: text(' '.join([sys.argv[2], os.environ['W'], os.getcwd()])))"
    )
    servers_directory = str(Path(__file__).parents[1] / "servers")
    spec = {
        "command": "python",
        "args": ["-c", script, servers_directory, "${task}-$${x}"],
        "env": {"W": "${workspace}/w"},
        "cwd": "${workspace}/inner",
        "state": "trajectory",
    }
    (template / "inner").mkdir()
    async with host({"s": spec}, workspace={"template": "workspaces/task-1"}) as interpreter:
        interpreter.described["s"] = (await _described(interpreter)).model_copy(update={"error": None})
        async with interpreter.sandbox("t", "task-1") as sandbox:
            assert answer_text(await sandbox.call("s", "x", {})) == "task-1-${x} /workspace/w /workspace/inner"


async def _described(interpreter):
    await interpreter.start()
    return interpreter.servers["s"]


async def test_a_server_whose_directory_is_not_there_says_so(host):
    async with host({"n": notes(cwd="${workspace}/absent")}) as interpreter:
        await interpreter.start()
        assert "absent does not exist" in interpreter.servers["n"].error


async def test_servers_that_are_named_start_side_by_side(host, events):
    slow = server("slow_start", env={"START_SECONDS": "0.5"}, state="trajectory")
    async with host({"a": slow, "b": slow, "c": slow}) as interpreter:
        await interpreter.start()
        events.clear()
        async with interpreter.sandbox("t", None, ["a", "b", "c"]) as sandbox:
            with anyio.fail_after(1.4):
                for name in "abc":
                    await sandbox.call(name, "echo", {"text": "up"})
    assert [event.kind for event in events[:3]] == ["starting"] * 3


async def test_the_time_of_a_call_is_without_the_start_of_its_server(host):
    async with host({"a": server("slow_start", env={"START_SECONDS": "2"}, state="trajectory")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t", None, []) as sandbox:
            exchange = Exchange()
            await sandbox.call("a", "echo", {"text": "up"}, exchange)
            assert exchange.seconds is not None
            assert 0 < exchange.seconds < 2
            absent = Exchange()
            await sandbox.call("nowhere", "echo", {}, absent)
            assert absent.seconds is None


async def test_a_workspace_goes_even_if_a_server_made_it_read_only(host):
    async with host({}) as interpreter, interpreter.sandbox("t") as sandbox:
        inner = sandbox.workspace / "locked"
        inner.mkdir()
        (inner / "file").write_text("x")
        inner.chmod(0o500)
    assert not sandbox.workspace.parent.exists()


async def test_a_cancelled_sandbox_leaves_no_directory(host):
    places = []
    async with host({"n": notes(), "h": server("hangs_in_call", state="trajectory")}) as interpreter:
        await interpreter.start()
        with anyio.move_on_after(0.5):
            async with interpreter.sandbox("t", None, ["n", "h"]) as sandbox:
                places.append(sandbox.workspace)
                await sandbox.call("h", "hang", {})
    assert not places[0].exists()


async def test_a_log_is_kept_for_each_server_that_wrote_one(host, tmp_path):
    async with host({"f": server("floods_stderr", state="trajectory"), "quiet": server("annotated")}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("task/7") as sandbox:
            await sandbox.call("f", "echo", {"text": ""})
    assert {path.name for path in (tmp_path / "logs").iterdir()} == {"f.log", "f.task_7.log"}


def test_the_effects_policy_issues_what_is_read_only_sandboxed_or_allowed(host):
    from replay.interpreter import Interpreter
    from replay.records import Tool

    look, plain = Tool(name="look", annotations={"readOnlyHint": True}), Tool(name="plain")
    fleet = fleet_of({name: server("annotated", effects=name) for name in ("read-only", "sandboxed", "all")})
    interpreter = Interpreter(fleet, names=(), logs=Path())
    assert interpreter.may_issue("read-only", look, set())
    assert not interpreter.may_issue("read-only", plain, set())
    assert not interpreter.may_issue("read-only", None, set())
    assert interpreter.may_issue("read-only", plain, {"read-only"})
    assert interpreter.may_issue("sandboxed", plain, set())
    assert interpreter.may_issue("all", plain, set())
    assert not interpreter.may_issue("unheard-of", look, {"unheard-of"})
