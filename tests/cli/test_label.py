"""Labels: what answers mean that rest on nothing, said once by a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.analysis.answer_labels import AnswerLabel, label_id, read_labels, template_pattern, write_label
from replay.errors import InputError
from replay.outcomes.second_look import template_of
from replay.records import Outcome
from replay.runfile import Run
from replay.runfile.call_queries import call_rows
from replay.safety.linear_regex import compile_pattern


def _results(path, *answers, tool="pick"):
    messages = []
    for number, answer in enumerate(answers):
        function = {"name": tool, "arguments": json.dumps({"n": number})}
        called = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": answer},
        ]
    path.write_text(json.dumps({"messages": messages}), "utf-8")
    return path


def test_templates_that_rest_on_nothing_are_listed_by_frequency(tmp_path, replay):
    results = _results(tmp_path / "a.json", "The blue one 7", "The blue one 8", "A lamp it is", '{"id": 7}')
    done = replay("label", results, "--json")
    document = json.loads(done.stdout)
    assert document["counts"]["rests-on-nothing"] == 3
    assert [row["answers"] for row in document["templates"]] == [2, 1]
    assert "2" in replay("label", results).stdout


def test_what_a_person_said_of_a_template_every_run_knows(tmp_path, replay):
    results = _results(tmp_path / "a.json", "The blue one 7", "The blue one 8", "A lamp it is")
    mark = json.loads(replay("label", results, "--json").stdout)["templates"][0]["id"]
    assert replay("label", results, "--mean", f"{mark}=not_found", "--note", "no such colour").returncode == 0
    assert replay("classify", results, "--offline").returncode == 0
    with Run.read(tmp_path / "replay-run.db") as run:
        rows = list(call_rows(run))
    assert [str(row.outcome) for row in rows] == ["not_found", "not_found", "success"]
    assert rows[0].rule == f"label.{mark}"
    assert rows[0].message == "no such colour"


def test_more_templates_than_are_shown_are_told(tmp_path, replay):
    results = _results(tmp_path / "a.json", "The blue one", "The red one", "A lamp it is")
    shown = replay("label", results, "--count", "1").stdout
    assert shown.splitlines()[-1] == "And 2 more: --count 3 shows all"
    assert "more:" not in replay("label", results, "--count", "3").stdout


def test_a_label_of_a_bare_code_says_nothing_of_another_code(tmp_path, replay):
    answers = [f"Error executing tool pick: {code}" for code in ("E1042", "E1007", "PAY-017", "PAY-018", "E1042")]
    results = _results(tmp_path / "a.json", *answers)
    rows = json.loads(replay("label", results, "--json").stdout)["templates"]
    assert [row["answers"] for row in rows] == [2, 1, 1, 1]
    mark = next(row["id"] for row in rows if "PAY-017" in row["example"])
    for meant in (f"{rows[0]['id']}=not_found", f"{mark}=invalid_arguments"):
        assert replay("label", results, "--mean", meant).returncode == 0
    assert replay("classify", results, "--offline").returncode == 0
    with Run.read(tmp_path / "replay-run.db") as run:
        said = [str(row.outcome) for row in call_rows(run)]
    assert said == ["not_found", "inconclusive", "invalid_arguments", "inconclusive", "not_found"]


def test_a_survey_looks_through_a_folder_and_passes_over_what_it_cannot_read(tmp_path, replay):
    folder = tmp_path / "many"
    folder.mkdir()
    _results(folder / "a.json", "The blue one 7", "It ended with an error of 3 %")
    (folder / "b.json").write_text("{", "utf-8")
    done = replay("label", "--survey", folder, "--json")
    document = json.loads(done.stdout)
    assert (document["files"], document["unreadable"], document["answers"]) == (1, 1, 2)
    assert set(document["counts"]) == {"rests-on-nothing", "words-of-failure", "flag-contradicted", "model-disagrees"}


@pytest.mark.parametrize("meaning", ["zz=not_found", "=success", "x=wrong", "x=inconclusive"])
def test_a_meaning_that_cannot_be_is_refused(tmp_path, replay, meaning):
    results = _results(tmp_path / "a.json", "The blue one 7")
    mark = json.loads(replay("label", results, "--json").stdout)["templates"][0]["id"]
    assert replay("label", results, "--mean", meaning.replace("x=", f"{mark}=")).returncode == 2


def test_a_file_that_contradicts_itself_is_refused_with_both_meanings(tmp_path):
    path = tmp_path / "replay-labels.yaml"
    rows = "".join(f"- {{tool: pick, template: the one, outcome: {name}}}\n" for name in ("success", "not_found"))
    path.write_text(f"format: replay.labels\nversion: 1\nlabels:\n{rows}", "utf-8")
    with pytest.raises(InputError, match="success and not_found"):
        read_labels(path)


@pytest.mark.parametrize("text", ["[", "format: other\n", "format: replay.labels\nlabels: [{tool: 3}]\n"])
def test_a_file_that_is_no_file_of_labels_is_refused(tmp_path, text):
    path = tmp_path / "replay-labels.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError):
        read_labels(path)


def test_a_label_that_is_written_again_gives_way(tmp_path: Path):
    path = tmp_path / "replay-labels.yaml"
    for outcome in (Outcome.SUCCESS, Outcome.NOT_FOUND):
        write_label(path, AnswerLabel(tool="pick", template="the * one", outcome=outcome))
    assert [label.outcome for label in read_labels(path)] == [Outcome.NOT_FOUND]


def test_the_pattern_of_a_template_matches_its_answers_and_no_longer_ones():
    template = template_of("Room 7 of 'North' it was")
    pattern = compile_pattern(template_pattern(template))
    assert pattern.search("Room 12 of 'South' it was.")
    assert not pattern.search("Room 12 of 'South' it was not")
    assert label_id("pick", template) != label_id("take", template)


def test_a_run_file_is_not_taken_for_answers(tmp_path, replay):
    (tmp_path / "run.db").write_bytes(b"SQLite format 3\0")
    done = replay("label", tmp_path / "run.db")
    assert done.returncode == 2
    assert "name what it was judged from" in done.stderr
