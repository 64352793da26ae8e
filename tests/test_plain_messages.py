"""What is said names what the user named, and counts as people do."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replay.safety.filesystem import write_atomically
from tests.in_process import replay_here
from tests.scripts import ROOT

ANSWERED = [[("web/search", {"q": "x"}, "found")]]
PACKAGES = ("alignment", "analysis", "charts", "cli", "diagnosis", "exporting", "reports", "shrinking")
NOT_ENGLISH = re.compile(r"\b(?:came|comes) out\b|\bwhat (?:came|became) of\b|\bis no (?:JSON|YAML|object|number)\b")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_that_cannot_be_written_is_named_and_not_the_one_beside_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        write_atomically(tmp_path / "gone" / "report.html", "text")
    assert raised.value.filename == str(tmp_path / "gone" / "report.html")


def test_the_only_server_that_is_down_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "servers.yaml").write_text("servers:\n  a: {command: there-is-no-such-command}\n")
    done = replay_here("servers", "check")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (4, "replay: the server could not be reached")


def test_a_misspelt_model_among_judge_scores_is_named(tmp_path: Path, results_file: Callable[..., Path]) -> None:
    files = [results_file(f"{model}_test_mcp_fuzzy.json", a=ANSWERED) for model in ("tiny", "huge")]
    rates = {"completion_rate": 1, "information_grounding_rate": 1}
    (tmp_path / "judge.json").write_text(json.dumps({"tiny": {"a": rates}, "hugee": rates}))
    done = replay_here("align", *files, "--reference", files[0], "--judge", "judge.json")
    assert done.returncode == 2
    assert "hugee is not a model of these files (nearest: huge)" in done.stderr


def test_a_figure_that_is_not_named_is_one_of_those_that_there_are() -> None:
    done = replay_here("figure", "-o", "x.svg")
    assert (done.returncode, done.stderr.splitlines()[-1][:46]) == (2, "replay: say which figure: error-multiples, lea")


def _texts(source: str) -> Iterator[str]:
    """The texts in a module's code that are not docstrings."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


@pytest.mark.parametrize("package", PACKAGES)
def test_no_message_uses_words_that_a_native_writer_would_not(package: str) -> None:
    modules = sorted((ROOT / "replay" / package).glob("*.py"))
    assert modules
    found = [text for module in modules for text in _texts(module.read_text("utf-8")) if NOT_ENGLISH.search(text)]
    assert found == []
