from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from replay.alignment.aligner import AlignmentSettings, Results, align_model, group_by_model, signatures_to_embed
from replay.alignment.judges import Judges
from replay.alignment.output import RunStore
from replay.alignment.tasks import Reference, sign
from replay.analysis.compare import CompareSettings, compare_models
from replay.analysis.statistics import wilson
from replay.charts.metrics import metric_by_type
from replay.charts.options import ChartOptions
from replay.errors import UsageError
from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.records.alignment import COLUMNS, TRAJECTORY_MATCH, AlignedModel, JudgeScores
from replay.records.comparison import ComparedModel, ModelComparison
from replay.reports.compare import comparison_text, render
from replay.runfile import Run
from replay.runfile.rows import pack, unpack
from tests.alignment.builders import vectors
from tests.runs import call, failed, make_run, write_trajectory

NOT_FOUND = "Error: file not found: x"


class Place:
    """A directory in which runs are made and compared."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[Path] = []

    def add(self, model: str, task: str, calls: list[Any], /, *, folder: str = "", **fields: Any) -> None:
        """One trajectory in a file of its own."""
        directory = self.path / folder / model
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{task}.trajectory.json"
        self.files.append(write_trajectory(file, calls, model=model, **fields))

    def compare(self, **settings: Any) -> ModelComparison:
        with Run.read(make_run(self.path / "run.db", self.files)) as run:
            return compare_models(run, CompareSettings(**settings))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def reported(*, passed: bool) -> dict[str, Any]:
    return {"passed": passed}


def by_name(found: ModelComparison) -> dict[str, ComparedModel]:
    return {one.model: one for one in found.models}


def test_a_model_in_several_files_is_one_row_with_its_shares_and_wilsons_interval(place: Place) -> None:
    place.add("ada", "t1", [call("f/read"), failed("f/read", {"path": "x"}, NOT_FOUND)])
    place.add("ada", "t2", [call("f/read"), call("f/list")])
    place.add("bob", "t1", [call("f/read")])
    ada = by_name(place.compare())["ada"]
    assert (ada.tasks, ada.trajectories, ada.runs, ada.calls, len(ada.files)) == (2, 2, 1, 4, 2)
    figure = ada.figures["success"]
    assert (figure.value, figure.n, (figure.low, figure.high)) == (0.75, 4, wilson(3, 4))
    assert ada.figures["well_formed"].value == 1.0
    assert ada.figures["calls_a_task"].value == 2.0
    assert "recall" not in ada.figures
    assert "task_success" not in ada.figures


def test_task_success_is_what_the_recording_says(place: Place) -> None:
    for task, passed in (("t1", True), ("t2", False), ("t3", False)):
        place.add("ada", task, [failed("f/read", {"path": "x"}, NOT_FOUND)], reported=reported(passed=passed))
    place.add("ada", "t4", [call("f/read")])
    place.add("bob", "t1", [call("f/read")], reported=reported(passed=True))
    found = place.compare()
    assert [one.model for one in found.models] == ["bob", "ada"], "the better one first"
    assert (found.sorted_by, by_name(found)["ada"].figures["task_success"].n) == ("task_success", 3)
    (ada,) = [row for row in found.failed_in_tasks if row.model == "ada"]
    assert (ada.passed_tasks, ada.failed_calls_in_passed, ada.lost_tasks, ada.failed_calls_in_lost) == (1, 1, 2, 2)


def test_what_goes_with_lost_tasks_has_an_odds_ratio(place: Place) -> None:
    for number in range(8):
        lost = number % 2 == 0
        calls = [failed("f/read", {"path": "x"}, NOT_FOUND)] if lost else [call("f/list")]
        place.add("ada", f"t{number}", calls, reported=reported(passed=not lost))
    associations = {(one.subject, one.name): one for one in place.compare().associations}
    one = associations["outcome", "not_found"]
    assert (one.lost_with, one.passed_with, one.lost_without, one.passed_without) == (4, 0, 0, 4)
    assert one.odds_ratio > 10
    assert one.beyond_chance
    assert ("tool", "f/read") in associations
    assert any(subject == "finding" for subject, _ in associations)


def test_a_failed_call_is_recovered_by_a_later_one_that_did_what_it_was_to_do(place: Place) -> None:
    place.add("ada", "t1", [failed("f/read", {"path": "note.tx"}, NOT_FOUND), call("f/read", {"path": "note.txt"})])
    place.add("ada", "t2", [failed("f/read", {"path": "other"}, NOT_FOUND), call("f/list")])
    found = place.compare()
    rows = {(row.subject, row.name): (row.failed, row.recovered, row.open) for row in found.recoveries}
    assert rows["model", "ada"] == rows["tool", "f/read"] == (2, 1, 1)
    assert by_name(found)["ada"].figures["recovery"].value == 0.5
    assert rows["finding", "later-succeeded"] == (1, 1, 0)


def test_a_failed_call_is_recovered_where_what_took_a_value_from_it_succeeded(place: Place) -> None:
    first = failed("f/make_folder", {"path": "/data/quarterly"}, "Error: file exists: /data/quarterly")
    place.add("ada", "t1", [first, call("g/put", {"where": "/data/quarterly", "text": "x"})])
    (row,) = [row for row in place.compare().recoveries if row.subject == "model"]
    assert (row.recovered, row.open) == (1, 0)


def test_several_runs_of_a_task_are_runs_with_mean_and_spread(place: Place) -> None:
    for number, passed in enumerate((True, False, True)):
        for task in ("t1", "t2"):
            place.add("ada", task, [call("f/read")], folder=f"run{number}", reported=reported(passed=passed))
    (ada,) = place.compare().models
    assert (ada.tasks, ada.trajectories, ada.runs) == (2, 6, 3)
    assert ada.spread is not None
    assert ada.spread["task_success"].values == (1.0, 0.0, 1.0)
    assert ada.spread["task_success"].mean == pytest.approx(2 / 3)
    assert ada.figures["task_success"].value == pytest.approx(2 / 3)


def test_runs_under_other_folders_are_no_runs_of_the_same_tasks(place: Place) -> None:
    for service, runs in (("klavis", (True, False, True)), ("official", (False, False, False))):
        for number, passed in enumerate(runs):
            for task in ("t1", "t2"):
                place.add(
                    "ada", task, [call("f/read")], folder=f"{service}/run-{number}", reported=reported(passed=passed)
                )
    place.add("bob", "t1", [call("f/read")], folder="klavis/run-0", reported=reported(passed=True))
    found = place.compare()
    ada = by_name(found)["ada"]
    assert (ada.tasks, ada.trajectories, ada.runs, found.common_tasks) == (4, 12, 3, 1)
    assert ada.spread is not None
    assert ada.spread["task_success"].values == (0.5, 0.0, 0.5)


@pytest.mark.parametrize(
    "folders", [("results-1", "results-2"), ("2026-11-20", "2026-11-21T10:00"), ("a_run1", "a_run2")]
)
def test_folders_that_differ_in_a_number_or_a_time_hold_runs(place: Place, folders: tuple[str, str]) -> None:
    for folder in folders:
        place.add("ada", "t1", [call("f/read")], folder=folder)
    assert by_name(place.compare())["ada"].runs == 2


@pytest.mark.parametrize(("again", "deviation"), [(("t1", "t2"), "0.0 %"), (("t1",), "-")])
def test_the_deviation_from_run_to_run_is_over_tasks_that_have_all_runs(
    place: Place, again: tuple[str, ...], deviation: str
) -> None:
    for folder, tasks in (("run1", ("t1", "t2", "t3")), ("run2", again)):
        for task in tasks:
            place.add("ada", task, [call("f/read")], folder=folder)
    found = place.compare()
    assert (found.models[0].spread is not None) == (deviation != "-")
    text = comparison_text(found, 160)
    assert f"only {len(again)} of its 3 tasks have all 2 runs" in text
    assert re.search(rf"^ada .* {deviation.replace(' ', '')} ", text, re.MULTILINE)


def test_tasks_of_one_id_in_several_families_are_no_runs_of_each_other(place: Place) -> None:
    for model in ("ada", "bob"):
        for domain, passed in (("banking", True), ("telecom", model == "ada")):
            task = {"question": "?", "labels": {"domain": domain}}
            place.add(model, "t1", [call("f/read")], folder=domain, task=task, reported=reported(passed=passed))
    found = place.compare(metric="task_success")
    assert [(one.tasks, one.trajectories, one.runs) for one in found.models] == [(2, 2, 1), (2, 2, 1)]
    assert by_name(found)["bob"].figures["task_success"].value == 0.5


def test_what_a_sub_agent_did_counts_with_the_task_that_started_it(place: Place) -> None:
    place.add("ada", "t1", [call("f/read")])
    make_run(place.path / "run.db", place.files)
    record = open_file(place.files[0])
    (own,) = record.trajectories()
    with Run.open(place.path / "run.db") as run:
        from replay.records.trajectory import ParentCall

        child = own.model_copy(update={"id": "t1/agent", "parent": ParentCall(trajectory="t1")})
        run.begin(child, file=record.path, format="test", policy="")
    with Run.read(place.path / "run.db") as run:
        (ada,) = compare_models(run).models
    assert (ada.tasks, ada.trajectories) == (1, 1)


def test_strata_by_type_by_server_and_by_a_label_of_the_file_name(place: Place) -> None:
    place.add("ada", "hard_1", [call("f/read"), call("g/put")], task={"question": "?", "type": "office"})
    place.add("ada", "easy_2", [call("f/read")], task={"question": "?"})
    place.add("bob", "hard_1", [failed("f/read", {"path": "x"}, NOT_FOUND)], task={"question": "?", "type": "office"})
    by_type = place.compare(by="type", metric="success").strata
    assert by_type is not None
    assert by_type.names == ("office", "(not known)")
    assert [(row.model, row.stratum, row.tasks) for row in by_type.rows][:2] == [
        ("ada", "office", 1),
        ("bob", "office", 1),
    ]
    by_server = place.compare(by="server").strata
    assert by_server is not None
    assert {(row.model, row.stratum): row.figures["success"].value for row in by_server.rows} == {
        ("ada", "f"): 1.0, ("ada", "g"): 1.0, ("bob", "f"): 0.0,
    }  # fmt: skip
    names = FileNames("{model}/{difficulty}_{task}.trajectory.json")
    by_label = place.compare(by="difficulty", names=names).strata
    assert by_label is not None
    assert by_label.names == ("easy", "hard")


def test_strata_are_by_several_labels_and_what_is_easier_stands_first(place: Place) -> None:
    for number, (family, difficulty) in enumerate(
        [("web", "medium"), ("files", "hard"), ("files", "easy"), ("web", "easy"), ("files", "Medium")]
    ):
        labels = {"family": family, "difficulty": difficulty}
        place.add("ada", f"t{number}", [call("f/read")], task={"question": "?", "labels": labels})
    place.add("ada", "bare", [call("f/read")], task={"question": "?"})
    strata = place.compare(by="family, difficulty", metric="success").strata
    assert strata is not None
    assert strata.names == (
        "files / easy",
        "files / Medium",
        "files / hard",
        "web / easy",
        "web / medium",
        "(not known)",
    )
    with pytest.raises(UsageError, match="dificulty"):
        place.compare(by="family,dificulty")
    with pytest.raises(UsageError, match="stands alone"):
        place.compare(by="server,family")


def test_a_task_needs_several_servers_where_most_of_its_runs_called_several(place: Place) -> None:
    both = [call("f/read"), call("g/put")]
    for model, calls in (("ada", both), ("bob", both), ("eve", [call("f/read")])):
        place.add(model, "t1", calls)
        place.add(model, "t2", [call("f/read")])
    strata = place.compare(by="single-or-multi-server").strata
    assert strata is not None
    assert {(row.model, row.stratum) for row in strata.rows} == {
        (model, kind) for model in ("ada", "bob", "eve") for kind in ("single-server", "multi-server")
    }


def test_an_unknown_stratum_or_measure_names_the_nearest(place: Place) -> None:
    place.add("ada", "t1", [call("f/read")], task={"question": "?", "labels": {"difficulty": "hard"}})
    with pytest.raises(UsageError, match="nearest: difficulty"):
        place.compare(by="dificulty")
    with pytest.raises(UsageError, match="there is no such measure; nearest: precision"):
        place.compare(metric="precison")
    with pytest.raises(UsageError, match="no task says its family"):
        place.compare(by="family")


def test_differences_are_paired_over_common_tasks_and_corrected(place: Place) -> None:
    for number in range(9):
        place.add("ada", f"t{number}", [call("f/read")])
        place.add("bob", f"t{number}", [failed("f/read", {"path": "x"}, NOT_FOUND)])
        place.add("eve", f"t{number}", [call("f/read")])
    place.add("eve", "more", [call("f/read")])
    found = place.compare(metric="success")
    pairs = {frozenset((pair.first, pair.second)): pair for pair in found.differences}
    sure, even = pairs[frozenset(("ada", "bob"))], pairs[frozenset(("ada", "eve"))]
    assert (found.common_tasks, sure.tasks, abs(sure.difference)) == (9, 9, 1.0)
    assert sure.p_value == pytest.approx(2 / 2**9)
    assert sure.corrected_p_value == pytest.approx(3 * 2 / 2**9)
    assert sure.beyond_chance
    assert not even.beyond_chance


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({"ada": ["t1"]}, "ada is the only model"),
        ({"ada": ["t1"], "bob": ["t2"]}, "the models have no task in common"),
        ({"ada": ["t1", "t2"], "bob": ["t2", "t3"], "eve": ["t3", "t1"]}, "no task is common to all models"),
    ],
)
def test_what_cannot_be_compared_is_said_and_the_rest_is_shown(
    place: Place, models: dict[str, list[str]], words: str
) -> None:
    for model, tasks in models.items():
        for task in tasks:
            place.add(model, task, [call("f/read")])
    found = place.compare(by="server")
    assert any(words in note for note in found.notes)
    assert any("no alignment metrics" in note for note in found.notes)
    assert any("strata with one task" in note for note in found.notes) == (len(models) < 3)
    text = comparison_text(found, 80)
    assert all(model in text for model in models)


def test_strata_of_calls_are_about_a_measure_of_calls_where_none_is_named(place: Place) -> None:
    for model, passed in (("ada", True), ("bob", False)):
        place.add(model, "t", [call("f/read"), failed("g/find", {}, NOT_FOUND)], reported=reported(passed=passed))
    found = place.compare(by="server")
    assert (found.sorted_by, found.metric) == ("task_success", "well_formed")
    assert "well formed by server" in comparison_text(found, 100)
    asked = place.compare(by="server", metric="task_success")
    assert any("tasks passed is a measure of whole tasks" in note for note in asked.notes)


SEARCH, PAGE = ("web/search", {"q": "tea"}), ("web/page", {"url": "https://tea.example"})


def m3bench(task: str, kind: str, calls: list[Any]) -> dict[str, Any]:
    written = [{"name": name, "arguments": arguments, "result": "ok"} for name, arguments in calls]
    return {"id": task, "type": kind, "question": "?", "steps": [{"step": 1, "calls": written}]}


def aligned(place: Path, judges: Judges) -> tuple[list[AlignedModel], ModelComparison]:
    """Two models of two files each, as `align` has them, and compared from the run."""
    wanted = [m3bench("t1", "a", [SEARCH, PAGE]), m3bench("t2", "b", [SEARCH]), m3bench("t3", "b", [PAGE, SEARCH])]
    done = {
        "ada_test_mcp_fuzzy": [m3bench("t1", "a", [SEARCH]), m3bench("t2", "b", [SEARCH, PAGE])],
        "more": [{**m3bench("t3", "b", [PAGE]), "model": "ada"}],
        "bob_test_mcp_fuzzy": [m3bench("t1", "a", [PAGE, SEARCH]), m3bench("t2", "b", [PAGE])],
    }
    files = []
    for name, records in done.items():
        files.append(place / f"{name}.json")
        files[-1].write_text(json.dumps(records))
    (place / "ref.json").write_text(json.dumps(wanted))
    store = RunStore(make_run(place / "run.db", files))
    opened = open_file(place / "ref.json")
    reference = Reference(opened.path, {one.id: sign(one) for one in opened.trajectories()}, ())
    results = [
        Results(file.path, file.model, {one.id: sign(one) for one in file.trajectories()})
        for file in map(open_file, files)
    ]
    found = vectors(signatures_to_embed(reference, results))
    alignments = [
        align_model(reference, one, found, AlignmentSettings(), judges) for one in group_by_model(reference, results)
    ]
    store.save(alignments, reference)
    with Run.read(place / "run.db") as run:
        return [one.model for one in alignments], compare_models(run, CompareSettings(by="type"))


def test_the_leaderboards_numbers_are_those_of_align(tmp_path: Path) -> None:
    models, found = aligned(tmp_path, Judges())
    assert [one.model for one in found.models] == [
        one.model for one in sorted(models, key=lambda one: -one.average_score)
    ]
    for one in models:
        figures = by_name(found)[one.model].figures
        for name in (*COLUMNS, *TRAJECTORY_MATCH):
            assert figures[name].value == pytest.approx(getattr(one.aggregate, name)), (one.model, name)
        assert figures["average"].value == pytest.approx(one.average_score)
        assert by_name(found)[one.model].missing == len(one.missing)


def test_an_alignment_of_an_older_version_has_no_trajectory_match_and_all_else(tmp_path: Path) -> None:
    aligned(tmp_path, Judges())
    with closing(sqlite3.connect(tmp_path / "run.db")) as db:
        for name in TRAJECTORY_MATCH:
            db.execute(f"ALTER TABLE task_scores DROP COLUMN {name}")
        for table, key in (("alignments", "file"), ("aligned_tasks", "task")):
            for row, record in db.execute(f"SELECT {key}, record FROM {table}").fetchall():
                db.execute(
                    f"UPDATE {table} SET record = ? WHERE {key} = ?", (pack(without_matches(unpack(record))), row)
                )
        db.execute("UPDATE meta SET value = '6' WHERE key = 'version'")
        db.commit()
    with Run.read(tmp_path / "run.db") as run:
        figures = by_name(compare_models(run, CompareSettings()))["ada"].figures
        assert set(figures) & {*COLUMNS, *TRAJECTORY_MATCH} == set(COLUMNS)
        chart = metric_by_type(run, ChartOptions(metric="recall"))
        assert all(value is not None for row in chart.values for value in row)
        with pytest.raises(UsageError, match="aligned by a version that did not know tool_call_f1"):
            metric_by_type(run, ChartOptions(metric="tool_call_f1"))


def without_matches(value: Any) -> Any:
    """The record as a version that knew no trajectory match wrote it."""
    if isinstance(value, dict):
        gone = {*TRAJECTORY_MATCH, "tool_args_match_mode"}
        return {name: without_matches(item) for name, item in value.items() if name not in gone}
    return [without_matches(item) for item in value] if isinstance(value, list) else value


def test_the_averages_with_judge_columns_are_those_of_the_papers_two_kinds_of_table(tmp_path: Path) -> None:
    """Overall the mean of seven columns; by task type the mean of all eight."""
    given = {("ada", "t1"): (0.4, 0.2), ("ada", "t2"): (0.6, 0.8), ("bob", ""): (0.5, 0.9)}
    judges = Judges(
        {key: JudgeScores(completion_rate=a, information_grounding_rate=b) for key, (a, b) in given.items()}
    )
    models, found = aligned(tmp_path, judges)
    assert found.strata is not None
    rows = {(row.model, row.stratum): row.figures for row in found.strata.rows}
    for one in models:
        assert by_name(found)[one.model].figures["average"].value == pytest.approx(one.average_score)
        for kind in one.types:
            assert rows[one.model, kind.type]["average"].value == pytest.approx(kind.average_score), one.model
    assert by_name(found)["bob"].figures["grounding"].value == 0.9


@pytest.fixture
def odd(place: Place) -> ModelComparison:
    """Models and tasks with names that would be markup, formulas or control sequences."""
    place.add("=ada|<b>", "t1", [call("f/read"), failed("f/<i>", {"path": "x"}, NOT_FOUND)], reported={"passed": True})
    place.add("bob\x1b[31m", "t1", [failed("f/read", {"path": "x"}, NOT_FOUND)], reported={"passed": False})
    return place.compare(by="server")


def test_the_json_keeps_to_its_schema(odd: ModelComparison) -> None:
    schema = json.loads((Path(__file__).parents[2] / "schemas" / "compare.schema.json").read_text())
    document = json.loads(render(odd, "json"))
    jsonschema.validate(document, schema)
    assert (document["format"], document["version"]) == ("replay.compare", 1)


def test_hostile_names_are_text_in_every_format(odd: ModelComparison) -> None:
    page, markdown, text = render(odd, "html"), render(odd, "markdown"), comparison_text(odd, 100)
    assert "<b>" not in page
    assert "=ada|&lt;b&gt;" in page
    assert r"ada\|\<b\>" in markdown
    assert "\x1b" not in page + markdown + text
    rows = list(csv.DictReader(io.StringIO(render(odd, "csv"))))
    assert {row["model"][:2] for row in rows} == {"'=", "bo"}
    assert any(row["by"] == "server" and row["stratum"] == "f" for row in rows)


@pytest.mark.parametrize("width", [60, 100, 400])
def test_the_table_fits_the_terminal_and_keeps_every_column(odd: ModelComparison, width: int) -> None:
    text = comparison_text(odd, width)
    table = text.split("sorted by")[0]
    assert max(map(len, table.splitlines())) <= width
    for measure in odd.measures:
        assert measure.label in table


def test_the_verb_judges_what_is_in_no_run_by_its_recording(place: Place, replay: Callable[..., Any]) -> None:
    place.add("ada", "t1", [call("f/read")])
    place.add("bob", "t1", [failed("f/read", {"path": "x"}, NOT_FOUND)])
    done = replay("compare", *place.files, "--json")
    assert done.returncode == 0, done.stderr
    assert "judging 2 calls by their recorded answers" in done.stderr
    document = json.loads(done.stdout)
    assert [one["model"] for one in document["models"]] == ["ada", "bob"]
    assert not (place.path / "replay-run.db").exists()


def test_the_published_toolathlon_runs_have_the_success_that_they_record(tmp_path: Path, shared_data: Path) -> None:
    files = sorted((shared_data / "toolathlon" / "results").glob("*.json"))
    recorded: dict[str, list[bool]] = {}
    with Run.open(tmp_path / "run.db") as run:
        for path in files:
            opened = open_file(path, FileNames("{model}_{task}.json"))
            for trajectory in opened.trajectories():
                run.begin(trajectory, file=opened.path, format=opened.format, policy="")
            recorded.setdefault(opened.model, []).append(json.loads(path.read_text())["pass"])
        found = compare_models(run)
    for model, passed in recorded.items():
        figure = by_name(found)[model].figures["task_success"]
        assert (figure.value, figure.n) == (sum(passed) / len(passed), len(passed))
    assert found.sorted_by == "task_success"


def test_a_task_of_which_the_measure_is_not_known_is_no_common_task(place: Place) -> None:
    for model in ("ada", "bob"):
        place.add(model, "t1", [call("f/read")], reported=reported(passed=model == "ada"))
        place.add(model, "t2", [call("f/read")])
    (pair,) = place.compare().differences
    assert (pair.measure, pair.tasks) == ("task_success", 1)


def test_numbers_stand_in_markdown_as_they_are(odd: ModelComparison) -> None:
    assert "\\0" not in render(odd, "markdown")
    assert "| 1.000 |" in render(odd, "markdown")
