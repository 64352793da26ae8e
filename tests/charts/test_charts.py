"""Charts: the numbers that they show, and the files that they become."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from replay.analysis.statistics import wilson
from replay.charts.catalogue import CHARTS, chart_csv, chart_data, chart_json
from replay.charts.counts import ORDER
from replay.charts.matplotlib_ import drawn
from replay.charts.metrics import bootstrap
from replay.charts.options import ChartOptions
from replay.charts.style import HATCHES, OUTCOME_COLOURS, SERIES
from replay.errors import MissingExtraError, UsageError, install_command
from replay.records import UNFOUNDED, Outcome
from replay.records.chart import Chart
from replay.runfile import Run, summarize
from tests.in_process import Done, replay_here
from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.scripts import schema_of
from tests.test_import_weight import modules_after

FILES = server("files", read=schema("path"))
HOSTILE = "<script>$\\alpha$ & \x1b[31m\u202ered"
GOOD = call("files/read", {"path": "/a"}, "text")
LOST = failed("files/read", {"path": "/b"}, "ENOENT: no such file or directory, open '/b'")
BROKEN = failed("files/read", {}, "Input validation error: 'path' is a required property")
OPEN = call("files/read", {"path": "/c"}, None)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models: one good, one bad and of a hostile name, one of which nothing could be judged."""
    directory = tmp_path_factory.mktemp("figures")
    models: dict[str, list[dict[str, Any]]] = {
        "good": [GOOD, GOOD, GOOD, LOST],
        HOSTILE: [GOOD, LOST, BROKEN, call("files/raed", {"path": "/a"}, None)],
        "open": [OPEN, OPEN],
    }
    files = []
    for number, (model, calls) in enumerate(models.items()):
        (directory / str(number)).mkdir()
        task = {"question": "?", "type": "text"}
        files.append(write_trajectory(directory / str(number) / "t.trajectory.json", calls, model=model, task=task))
    return make_run(directory / "run.db", files, FILES)


def data_of(path: Path, name: str, **options: Any) -> Chart:
    with Run.read(path) as run:
        return chart_data(name, run, ChartOptions(**options))


def test_the_distribution_draws_what_is_undecided_and_the_best_model_stands_first(run_path: Path) -> None:
    data = data_of(run_path, "outcomes")
    assert (data.rows[0], data.totals) == ("good", (4, 4, 2))
    assert data.columns == (*map(str, ORDER), "inconclusive")
    assert data.values[0] == (0.75, 0.25, 0, 0, 0, 0)
    assert data.values[1] == (0.25, 0.25, 0.25, 0.25, 0, 0)


def test_the_distribution_refuses_shares_where_less_than_a_tenth_is_decided(run_path: Path) -> None:
    data = data_of(run_path, "outcomes")
    assert data.values[2] == (*(None,) * 5, 1.0)
    assert data.notes == ("Fewer than a tenth of the calls are decided, no shares: open.",)


def test_the_panels_have_the_failures_alone(run_path: Path) -> None:
    data = data_of(run_path, "error-multiples")
    assert data.columns == ("illegal_format", "unknown_tool", "invalid_arguments", "not_found")
    assert data.values[1] == (0, 0.25, 0.25, 0.25)


def test_without_an_alignment_the_leaderboard_is_of_well_formed_calls_with_wilson_s_interval(run_path: Path) -> None:
    data = data_of(run_path, "leaderboard")
    assert [value for (value,) in data.values] == [1.0, 0.5, None]
    assert data.low is not None
    assert data.low[1][0] == pytest.approx(0.1500, abs=1e-4)
    assert "not aligned" in data.notes[-1]


def test_heat_maps_count_findings_servers_and_outcomes(run_path: Path) -> None:
    findings = data_of(run_path, "model-finding")
    assert findings.columns == ("missing-thing", "missing-field", "nearly-a-tool")
    assert findings.counts is not None
    assert sorted(findings.counts) == [(0, 0, 0), (1, 0, 0), (1, 1, 1)]
    servers = data_of(run_path, "model-server")
    assert (servers.columns, [row[0] for row in servers.values]) == (("files",), [0.25, 0.75, None])
    tools = data_of(run_path, "tool-outcome", rows=1)
    assert (tools.rows, tools.totals) == (("files/read",), (7,))
    assert tools.notes == ("Tools with failures that are not shown (--rows): 1.",)


def test_a_metric_by_type_has_an_interval_for_each_model(run_path: Path) -> None:
    data = data_of(run_path, "metric-by-type", metric="success")
    assert (data.rows, data.counts) == (("text",), ((4, 4, 0),))
    assert data.values == ((0.75, 0.25, None),)
    assert data.high is not None
    assert data.high[0][0] == pytest.approx(0.9544, abs=1e-4)


def height_in_inches(svg: bytes) -> float:
    return float(str(ET.fromstring(svg).get("height")).removesuffix("pt")) / 72


@pytest.mark.parametrize("models", [1, 3, 8])
def test_a_metric_by_thirty_types_fits_a_page(models: int) -> None:
    rows, columns = tuple(f"type {n}" for n in range(30)), tuple(f"model {n}" for n in range(models))
    cells = ((0.5,) * models,) * 30
    about: dict[str, Any] = {
        "figure": "metric-by-type",
        "title": "t",
        "measure": "recall",
        "row_name": "type",
        "column_name": "model",
    }
    svg = drawn(Chart(**about, rows=rows, columns=columns, values=cells), "svg")
    assert height_in_inches(svg) < 10
    words = "".join(ET.fromstring(svg).itertext())
    assert all(name in words for name in rows)


def test_what_rests_on_few_does_not_look_like_what_rests_on_many(run_path: Path) -> None:
    few, many = (
        data_of(run_path, "tool-outcome").model_copy(update={"totals": totals}) for totals in ((1, 4), (100, 400))
    )
    assert b"hatched: of fewer than 5" in drawn(few, "svg")
    assert b"hatched" not in drawn(many, "svg")
    dots = data_of(run_path, "metric-by-type", metric="success")
    assert dots.cell_totals == ((4, 4, 0),)
    assert b"hollow: of fewer than 5" in drawn(dots, "svg")
    assert b"hollow" not in drawn(dots.model_copy(update={"cell_totals": ((40, 5, 0),)}), "svg")


@pytest.mark.parametrize("name", CHARTS)
def test_every_figure_is_an_svg_whose_words_are_text_and_whose_bytes_do_not_change(run_path: Path, name: str) -> None:
    data = data_of(run_path, name)
    first, second = (drawn(data, "svg") for _ in range(2))
    assert first == second
    root = ET.fromstring(first)
    words = "".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    assert "good" in words or name == "tool-outcome"
    assert {element.tag for element in root.iter()}.isdisjoint({f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject"})
    assert b"\x1b" not in first
    assert "\u202e".encode() not in first
    assert b"<dc:date>" not in first


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_and_pages_are_the_same_bytes_each_time(run_path: Path, form: Any, start: bytes) -> None:
    data = data_of(run_path, "outcomes")
    assert drawn(data, form) == drawn(data, form)
    assert drawn(data, form).startswith(start)


def test_a_slide_is_larger_than_a_column(run_path: Path) -> None:
    data = data_of(run_path, "leaderboard")
    sizes = [ET.fromstring(drawn(data, "svg", medium)).get("width") for medium in ("paper", "slide")]
    assert sizes == ["374.4pt", "636.48pt"]


@pytest.mark.parametrize("medium", ["paper", "slide"])
@pytest.mark.parametrize("name", ["model-finding", "model-server", "tool-outcome", "trajectory-finding", "leaderboard"])
def test_what_a_figure_says_of_its_measure_fits_its_width(run_path: Path, name: str, medium: Any) -> None:
    chart = data_of(run_path, name, models=("good",)).model_copy(update={"measure": "share of what is counted " * 4})
    root = ET.fromstring(drawn(chart, "svg", medium))
    lines = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    told = [line for line in lines if "counted" in line or "of what" in line]
    width, size = float(root.get("width", "0").removesuffix("pt")), 8.5 * (1.7 if medium == "slide" else 1)
    assert len(told) > 1
    assert max(map(len, told)) * 0.55 * size < width


def test_a_rank_stands_before_the_name_and_the_words_say_what_cells_and_colours_are(run_path: Path) -> None:
    ranks = ET.fromstring(drawn(data_of(run_path, "leaderboard"), "svg"))
    assert any("".join(text.itertext()).startswith("1. good") for text in ranks.iter(f"{SVG}text"))
    cells = ET.fromstring(drawn(data_of(run_path, "model-server"), "svg"))
    assert "in the cells: counts" in " ".join("".join(text.itertext()) for text in cells.iter(f"{SVG}text"))


def test_numbers_from_elsewhere_are_drawn_by_the_same_modules() -> None:
    data = Chart(
        figure="metric-by-type",
        title="Task success",
        measure="task success",
        row_name="difficulty",
        column_name="model",
        rows=("easy", "hard"),
        columns=tuple(f"model-{number}" for number in range(10)),
        values=tuple(tuple(number / 10 for number in range(10)) for _ in range(2)),
    )
    assert b"hard" in drawn(data, "svg")
    with pytest.raises(ValueError, match="not a cell for each row and column"):
        Chart(**{**dict(data), "rows": ("easy",)})


def test_the_data_is_what_its_schema_says_and_no_formula(run_path: Path) -> None:
    data = data_of(run_path, "model-server")
    document = json.loads(chart_json(data))
    jsonschema.validate(document, schema_of("figure"))
    assert (document["format"], document["figure"]) == ("replay.figure", "model-server")
    renamed = data.model_copy(update={"rows": ("=1+1", *data.rows[1:])})
    rows = list(csv.DictReader(io.StringIO(chart_csv(renamed))))
    assert (rows[0]["row"], rows[0]["value"], rows[0]["count"]) == ("'=1+1", "0.25", "1")
    with Run.read(run_path) as run:
        certainties = summarize(run).certainties
    assert document["certainties"] == certainties
    assert {row["run_unfounded"] for row in rows} == {str(certainties.get(UNFOUNDED, 0))}
    assert "\x1b" not in chart_csv(data)


def test_patterns_and_markers_tell_apart_what_colours_do() -> None:
    assert len(set(HATCHES.values())) == len(HATCHES) == len(OUTCOME_COLOURS) == len(Outcome)
    assert len({marker for _, marker in SERIES}) == len({colour for colour, _ in SERIES}) == len(SERIES)


def test_wilson_s_interval_is_the_published_one_and_of_nothing_there_is_none() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(0, 0) is None
    assert bootstrap([], ["recall"]) == (None, None)


@pytest.mark.parametrize("calls", [[GOOD], [OPEN]])
def test_one_model_and_a_run_without_failures_are_drawn_with_a_sentence(
    tmp_path: Path, calls: list[dict[str, Any]]
) -> None:
    run = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)], FILES)
    for name in CHARTS:
        data = data_of(run, name)
        assert drawn(data, "svg").startswith(b"<?xml")
        assert name == "tool-outcome" or "one model only" in data.notes[0]


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    monkeypatch.chdir(tmp_path)
    return replay_here


def test_the_verb_writes_what_the_name_of_the_output_says(replay: Callable[..., Done], run_path: Path) -> None:
    for name in ("f.svg", "f.csv", "f.json"):
        assert replay("figure", "leaderboard", run_path, "-o", name).returncode == 0
        assert Path(name).stat().st_size > 100
    assert replay("figure", "leaderboard", run_path, "-o", "f.svg").stderr.endswith(
        "exists; overwrite it with --force\n"
    )
    assert replay("figure", "leaderboard", "--run", run_path, "--data", "csv").stdout.startswith("row,column,value")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["leaderbord", "-o", "x.svg"], "there is no figure 'leaderbord'; did you mean leaderboard?"),
        (["leaderboard", "-o", "x.svgz"], "its name must end in .svg, .png, .pdf, .csv, .json; did you mean .svg?"),
        (["leaderboard", "-o", "x"], "its name must end in .svg"),
        (["leaderboard"], "say where to: -o FILE.svg"),
        (["leaderboard", "-o", "x.svg", "--data", "csv"], "--data csv does not go with x.svg"),
        (["leaderboard", "-o", "x.svg", "--model", "goood"], "there is no model goood in this run; nearest: good"),
        (["metric-by-type", "-o", "x.svg", "--metric", "recal"], "there is no metric 'recal'; did you mean recall?"),
        (["metric-by-type", "-o", "x.svg", "--metric", "recall"], "is not aligned with a reference"),
    ],
)
def test_bad_input_is_one_sentence(replay: Callable[..., Done], run_path: Path, words: list[str], said: str) -> None:
    done = replay("figure", *words, "--run", run_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not Path("x.svg").exists()


def test_an_empty_run_is_one_sentence(replay: Callable[..., Done], tmp_path: Path) -> None:
    Run.open(tmp_path / "empty.db").close()
    for name in CHARTS:
        done = replay("figure", name, "empty.db", "-o", "x.svg")
        assert (done.returncode, done.stdout) == (2, "")
        assert "this run has no verdicts yet" in done.stderr


def test_without_matplotlib_it_is_said_what_to_install_and_the_numbers_are_there(
    run_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    data = data_of(run_path, "leaderboard")
    assert chart_csv(data)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("figures"))):
        drawn(data, "svg")


def test_neither_help_nor_classify_nor_the_numbers_load_matplotlib(tmp_path: Path, run_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [GOOD])
    for words in (
        ["figure", "--help"],
        ["classify", str(file), "--offline"],
        ["figure", "tool-outcome", str(run_path), "--data", "csv"],
    ):
        loaded = modules_after(words, tmp_path)
        assert "replay.cli" in loaded
        assert "matplotlib" not in loaded


def test_an_unknown_model_is_an_error_also_for_the_numbers(run_path: Path) -> None:
    with pytest.raises(UsageError, match="nearest: "):
        data_of(run_path, "model-finding", models=("gpt",))
