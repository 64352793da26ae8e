"""A folder full of modules that bear the names of others: no verb imports one of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SERVERS

PLANTED = [
    "_socket", "anyio", "asyncio", "click", "dask", "distributed", "encodings", "httpx2", "json", "landlockpy", "mcp",
    "multiprocessing", "numpy", "platformdirs", "pydantic", "re", "replay", "replay_tui", "scipy", "sitecustomize",
    "socket", "sqlite3", "ssl", "subprocess", "tempfile", "textual", "usercustomize", "yaml",
]  # fmt: skip
STEPS = [
    {"step": 1, "calls": [{"name": "ledger/nothing", "arguments": {}, "result": "Error: unknown tool nothing"}]},
    {"step": 2, "calls": [{"name": "ledger/count", "arguments": {}, "result": "1"}]},
]
VERBS = {
    "classify": ["classify", "a.json"],
    "classify --offline": ["classify", "a.json", "--offline", "--run", "b.db"],
    "classify --workers": ["classify", "a.json", "--workers", "2", "--run", "c.db"],
    "classify --offline --workers": ["classify", "a.json", "--offline", "--workers", "2", "--run", "d.db"],
    "shrink": ["shrink", "--call", "t:s1c1"],
    "servers check": ["servers", "check"],
    "servers tools": ["servers", "tools"],
    "record": ["record", "-o", "r.trajectory.json", "--", sys.executable, str(SERVERS / "counter.py")],
    "record --servers": ["record", "-o", "s.trajectory.json", "--servers", "servers.yaml"],
    "report": ["report"],
    "report --call": ["report", "--call", "t:s1c1"],
    "compare": ["compare", "replay-run.db"],
    "diff": ["diff", "replay-run.db", "replay-run.db"],
    "tools": ["tools", "replay-run.db"],
    "known": ["known", "list"],
    "align": ["align", "a.json", "--reference", "a.json"],
    "convert": ["convert", "a.json", "-o", "converted"],
    "export": ["export", "--format", "openai", "-o", "exported"],
    "show": ["show", "a.json"],
    "recover": ["recover", "replay-run.db"],
    "cassette": ["cassette", "export", "out.cassette"],
}


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with results, a fleet file, a run, and the modules."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    spec = {"command": sys.executable, "args": [str(SERVERS / "counter.py")], "effects": "sandboxed"}
    (folder / "servers.yaml").write_text(json.dumps({"version": 1, "servers": {"ledger": spec}}))
    assert run_in(folder, VERBS["classify"]).returncode == 0
    trap = f"import os; open({str(folder / 'ran')!r}, 'a').write(__name__ + ' ' + str(os.getpid()) + chr(10))\n"
    for name in PLANTED:
        (folder / f"{name}.py").write_text(trap)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(trap)
        (folder / name / "__main__.py").write_text(trap)
    yield folder
    shutil.rmtree(folder)


def run_in(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The installed command, as a user types it."""
    command = shutil.which("replay", path=str(Path(sys.executable).parent))
    assert command is not None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_imports_a_module_of_the_current_directory(trapped: Path, verb: str) -> None:
    (trapped / "ran").unlink(missing_ok=True)
    done = run_in(trapped, VERBS[verb])
    assert done.returncode != 2, done.stderr  # the verb did its work
    assert not (trapped / "ran").exists(), f"{(trapped / 'ran').read_text()}{done.stderr}"
    assert "Traceback" not in done.stderr
