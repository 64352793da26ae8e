from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from replay.cli.show import show
from replay.errors import UsageError
from tests.scripts import schema_of


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(show, [str(argument) for argument in arguments])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    def row(identifier: str) -> dict[str, object]:
        first = {"name": "x/create", "arguments": {}, "result": "id zk81qv \x1b[31m"}
        second = {"name": "x/get", "arguments": {"id": "zk81qv"}, "result": "fine"}
        steps = [{"step": 1, "calls": [first]}, {"step": 2, "calls": [second, second]}]
        return {"id": identifier, "type": "t", "question": "Do it.", "steps": steps, "final_reply": ""}

    path = tmp_path / "gpt.json"
    path.write_text(json.dumps([row("task-one"), row("task-two")]), "utf-8")
    return path


def test_several_trajectories_are_listed_with_their_shapes(results: Path) -> None:
    lines = run(results).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["task-one", "task-two"]
    assert "multi-hop, multi-threaded; depth 2, width 2, longest chain 2" in lines[0]


def test_a_trajectory_is_printed_as_text(results: Path) -> None:
    done = run(results, "task-two")
    assert done.exit_code == 0
    assert "task-two  model gpt" in done.stdout
    assert '<- s1c1 answer /content/0/text -> /id: "zk81qv"' in done.stdout
    assert "\x1b" not in done.stdout


def test_an_unknown_id_names_the_nearest_ones(results: Path) -> None:
    error = run(results, "task-tow").exception
    assert isinstance(error, UsageError)
    assert "no trajectory 'task-tow'; nearest: task-two" in str(error)


def test_the_graph_is_printed_for_other_tools(results: Path) -> None:
    assert run(results, "task-one", "--dot").stdout.startswith('digraph "task-one" {')
    assert run(results, "task-one", "--mermaid").stdout.startswith("flowchart TD\n")
    assert "\x1b" not in run(results, "task-one", "--dot").stdout


def test_json_has_the_dag_file_and_its_shape(results: Path) -> None:
    document = json.loads(run(results, "task-one", "--json").stdout)
    assert document["trajectory"]["format"] == "replay.trajectory"
    assert document["shape"]["multi_hop"] is True
    assert len(document["trajectory"]["edges"]) == 2
    listed = json.loads(run(results, "--json").stdout)
    assert [row["id"] for row in listed["trajectories"]] == ["task-one", "task-two"]
    for one in (document, listed):
        assert (one["format"], one["version"]) == ("replay.show", 1)
        jsonschema.validate(one, schema_of("show"))


def test_a_graph_of_several_trajectories_asks_which(results: Path) -> None:
    error = run(results, "--dot").exception
    assert isinstance(error, UsageError)
    assert "say which" in str(error)


def test_forms_do_not_go_together(results: Path) -> None:
    assert isinstance(run(results, "task-one", "--dot", "--json").exception, UsageError)
