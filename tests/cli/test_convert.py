from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import replay
from replay.cli.convert import convert
from replay.errors import ReplayError
from replay.formats import open_file
from replay.records import Call, Trajectory
from replay.safety.redaction import Redactor


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(convert, [str(argument) for argument in arguments])


def m3bench(path: Path, *identifiers: str, arguments: Any = None, answer: Any = "ok") -> Path:
    call = {"name": "x/a", "arguments": arguments or {}, "result": answer}
    rows = [
        {"id": one, "type": "t", "question": "q", "steps": [{"step": 1, "calls": [call]}], "final_reply": "done"}
        for one in identifiers
    ]
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_each_trajectory_becomes_a_dag_file_and_its_path_is_printed(tmp_path: Path) -> None:
    done = run(m3bench(tmp_path / "gpt_test_mcp_fuzzy.json", "one", "two"), "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [str(tmp_path / "out" / f"{name}.trajectory.json") for name in ("one", "two")]
    (trajectory,) = open_file(tmp_path / "out" / "one.trajectory.json").trajectories()
    assert (trajectory.id, trajectory.model, trajectory.edges) == ("one", "gpt", ())
    assert trajectory.source.file.endswith("gpt_test_mcp_fuzzy.json")


def test_files_of_several_models_get_the_model_in_the_name(tmp_path: Path) -> None:
    first, second = m3bench(tmp_path / "a.json", "one"), m3bench(tmp_path / "b.json", "one")
    done = run(first, second, "-o", tmp_path / "out")
    assert [Path(line).name for line in done.stdout.splitlines()] == ["a.one.trajectory.json", "b.one.trajectory.json"]


def test_names_that_are_the_same_to_a_file_system_or_hostile_are_made_safe_and_unique(tmp_path: Path) -> None:
    identifiers = ["../../etc/passwd", "a/b", "a b", "A_B", "..", "con", "x" * 400, "\x1b[31m"]
    done = run(m3bench(tmp_path / "m.json", *identifiers), "-o", tmp_path / "out")
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(names)
    assert len({name.lower() for name in names}) == len(identifiers)
    assert all(len(name) < 200 and not name.startswith(".") for name in names)
    assert [next(open_file(tmp_path / "out" / name).trajectories()).id for name in names] == identifiers


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    source = m3bench(tmp_path / "m.json", "one")
    assert run(source, "-o", tmp_path / "out").exit_code == 0
    refused = run(source, "-o", tmp_path / "out")
    assert isinstance(refused.exception, ReplayError)
    assert "--force" in str(refused.exception)
    assert run(source, "-o", tmp_path / "out", "--force").exit_code == 0


def test_a_broken_file_is_named_and_the_others_are_imported(tmp_path: Path) -> None:
    good, bad = m3bench(tmp_path / "good.json", "one"), tmp_path / "bad.json"
    bad.write_text("{", "utf-8")
    done = run(bad, good, "-o", tmp_path / "out")
    assert isinstance(done.exception, ReplayError)
    assert str(bad) in done.stderr
    assert (tmp_path / "out" / "one.trajectory.json").exists()


def test_edges_are_in_the_file(tmp_path: Path) -> None:
    source = tmp_path / "chat.json"
    calls = [("x-create", "{}", "id zk81qv"), ("x-get", '{"id": "zk81qv"}', "fine")]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number, (name, arguments, answer) in enumerate(calls):
        function = {"name": name, "arguments": arguments}
        tool_call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
    source.write_text(json.dumps({"messages": messages}), "utf-8")
    assert run(source, "-o", tmp_path / "out").exit_code == 0
    document = json.loads((tmp_path / "out" / "chat.trajectory.json").read_text("utf-8"))
    assert list(document)[:2] == ["format", "version"]
    assert [(edge["producer"], edge["consumer"], edge["value"]) for edge in document["edges"]] == [
        ("s1c1", "s2c1", "zk81qv")
    ]


UNDER_A_NAME = {
    **{
        name: f"{name[:3]}-9"
        for name in ("password", "cookie", "passwd", "pwd", "secret", "credential", "authorization")
    },
    "db_password": 4711001,
    "cookies": ["one11", "two22"],
}
IN_WORDS = "password=hunter2\nCookie: session=abc123def\nghp_0123456789abcdefghijABCDEFGHIJ012345 lk-7f3a9c51"
PLANTED = (
    *(str(value) for value in UNDER_A_NAME.values() if not isinstance(value, list)),
    *("one11", "two22", "hunter2", "abc123def", "ghp_0123", "lk-7f3a9c51"),
)


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["here", "on workers"])
def test_no_secret_is_written_and_the_calls_are_judged_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "lk-7f3a9c51")
    plain = {"headers": "Cookie: \n=======", "path": "/srv/a", "later": "it's all here"}
    source = m3bench(tmp_path / "m.json", "one", arguments=UNDER_A_NAME | plain, answer=IN_WORDS)
    assert run(source, "-o", tmp_path / "out", *workers).exit_code == 0
    (path,) = (tmp_path / "out").iterdir()
    written = path.read_text()
    assert {name: next(next(open_file(path).trajectories()).calls()).arguments.get(name) for name in plain} == plain
    assert [secret for secret in PLANTED if secret in written] == []
    assert "/srv/a" in written
    assert "/srv/a" in source.read_text()
    with replay.classify(source) as before, replay.classify(path) as after:
        verdicts = [[(row.call, row.outcome) for row in judged.calls()] for judged in (before, after)]
    assert verdicts[0] == verdicts[1]


def test_anonymized_files_tell_neither_who_nor_where_and_a_name_has_one_stand_in_in_all_of_them(tmp_path: Path) -> None:
    first = m3bench(tmp_path / "a.json", "one", answer="trajectory wrote it, says grace")
    path = "/home/grace/x and /home/trajectory/y on build7.corp.internal, by mail of ada@corp.internal"
    second = m3bench(tmp_path / "b.json", "two", arguments={"path": path, "grace": 1})
    assert run(first, second, "-o", tmp_path / "plain").exit_code == 0
    assert "grace" in "".join(file.read_text() for file in (tmp_path / "plain").iterdir())
    assert run(first, second, "-o", tmp_path / "out", "--anonymize").exit_code == 0
    (one, two) = [next(open_file(file).trajectories()) for file in sorted((tmp_path / "out").iterdir())]
    answer = next(one.calls()).answer
    assert answer is not None
    words, arguments = answer.text.split(), next(two.calls()).arguments
    assert arguments is not None
    users = arguments["path"].split()
    assert [words[0], words[-1]] == [users[2].split("/")[2], users[0].split("/")[2]]
    assert words[-1] in arguments
    written = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert [name for name in ("grace", "corp.internal", "ada@") if name in written] == []
    refused = run(first, "-o", tmp_path / "more", "--anonymize", "--workers", "1")
    assert "--anonymize goes without workers" in str(refused.exception)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


def holds_no_secret(value: Any) -> bool:
    return bool(Redactor().json({"value": value}) == {"value": value})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(arguments=OBJECTS, answer=JSON, second=st.none() | st.text(max_size=5) | st.integers() | OBJECTS)
def test_what_is_imported_reads_back_as_the_original(tmp_path: Path, arguments: Any, answer: Any, second: Any) -> None:
    assume(holds_no_secret([arguments, answer, second]))
    source = tmp_path / "m.json"
    steps = [
        {"step": 1, "calls": [{"name": "x/a", "arguments": arguments, "result": answer}]},
        {"step": 2, "calls": [{"name": second, "arguments": second, "result": None}, {"name": "x/b"}]},
    ]
    row = {"id": "one", "type": "t", "question": None, "steps": steps, "final_reply": None}
    source.write_text(json.dumps([row]), "utf-8")
    done = run(source, "-o", tmp_path / "out", "--force")
    assert done.exit_code == 0, done.output
    (before,) = open_file(source).trajectories()
    (after,) = open_file(tmp_path / "out" / "one.trajectory.json").trajectories()
    assert after.model_copy(update={"edges": None}) == before


@pytest.mark.parametrize("name", ["claude-4.5-sonnet_ppt-analysis", "deepseek-v3.2-exp_courses-ta-hws"])
def test_published_runs_are_imported_without_loss(tmp_path: Path, shared_data: Path, name: str) -> None:
    source = shared_data / "toolathlon" / "results" / f"{name}.json"
    assert run(source, "--names", "{model}_{task}.json", "-o", tmp_path).exit_code == 0
    (path,) = tmp_path.iterdir()
    (after,) = open_file(path).trajectories()
    (before,) = open_file(source).trajectories()
    assert calls_of(after) == calls_of(before)
    assert after.edges


def calls_of(trajectory: Trajectory) -> list[Call]:
    return list(trajectory.calls())
