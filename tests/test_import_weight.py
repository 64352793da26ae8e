from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROBE = """
import sys
sys.argv[1:] = {arguments!r}
from replay.cli import main
try:
    main()
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""


def modules_after(arguments: list[str], cwd: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=arguments)], cwd=cwd, capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED ")[2].split())


def test_help_loads_next_to_nothing(tmp_path: Path) -> None:
    loaded = modules_after(["--help"], tmp_path)
    assert not loaded & {"textual", "torch", "mcp", "pydantic", "numpy", "rich", "networkx", "scipy", "anyio"}


def test_classify_loads_neither_the_browser_nor_the_encoder(tmp_path: Path, results_file: Callable[..., Path]) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")]])
    loaded = modules_after(["classify", str(results), "--offline"], tmp_path)
    assert "replay.replayer.classifier" in loaded
    assert not loaded & {"textual", "torch", "sentence_transformers", "transformers", "scipy", "dask", "distributed"}
    assert not loaded & {"openai", "jsonschema"}


@pytest.mark.parametrize("verb", ["classify", "browse", "report", "align", "record", "show", "servers"])
def test_the_help_of_a_verb_loads_neither_textual_nor_torch(tmp_path: Path, verb: str) -> None:
    assert not modules_after([verb, "--help"], tmp_path) & {"textual", "torch"}


@pytest.mark.parametrize("verb", [["report"], ["report", "--format", "json"], ["report", "--format", "html"]])
def test_reading_a_run_loads_neither_the_interpreter_nor_the_browser_nor_the_encoder(
    tmp_path: Path, results_file: Callable[..., Path], verb: list[str]
) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")]])
    modules_after(["classify", str(results), "--offline", "--run", "run.db"], tmp_path)
    loaded = modules_after([*verb, "run.db"], tmp_path)
    assert "replay.reports" in loaded
    assert not {name for name in loaded if name.startswith(("replay.interpreter", "replay.replayer"))}
    assert not loaded & {"textual", "torch", "sentence_transformers", "transformers", "mcp"}


def test_the_browser_s_screens_load_neither_the_interpreter_nor_the_encoder() -> None:
    probe = "import sys, replay_tui, replay_tui.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "textual" in loaded
    assert not {name for name in loaded if name.startswith(("replay.interpreter", "replay.replayer"))}
    assert not loaded & {"torch", "sentence_transformers", "transformers", "mcp"}
