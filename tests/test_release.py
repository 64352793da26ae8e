"""What a release needs: the changelog, metadata that an index takes, a base install that does without SciPy."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

import replay
from tests.scripts import ROOT, script

changes_of = script("changes_of").changes_of
BLOCKED = """
import sys
sys.modules["scipy"] = None
from replay.cli import main
main()
"""


def test_the_changelog_s_section_is_that_of_the_version() -> None:
    text = "# Changes\n\n## Unreleased\n\n- c\n\n## 0.2.0 (2026-12-01)\n\n- b\n\n## 0.1.0\n\n- a\n"
    assert changes_of("v0.2.0", text) == "- b"
    with pytest.raises(LookupError, match=r"no section 0\.3\.0"):
        changes_of("v0.3.0", text)
    assert changes_of("Unreleased", (ROOT / "CHANGELOG.md").read_text("utf-8"))


def test_the_release_workflow_publishes_without_a_token_and_tries_what_it_publishes() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"]["id-token"] == "write"
    assert "secrets." not in str(workflow)
    assert "demo" in str(workflow["jobs"]["build"])
    for path in re.findall(r"docs/\w+\.py", str(workflow)):
        assert (ROOT / path).is_file()


def test_the_sdist_holds_what_builds_it_and_its_metadata_names_the_readme(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    from hatchling.builders.sdist import SdistBuilder

    built = Path(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path))))
    top = f"mcp_replay-{replay.__version__}"
    with tarfile.open(built) as archive:
        names = set(archive.getnames())
        information = archive.extractfile(f"{top}/PKG-INFO")
        assert information is not None
        metadata = message_from_bytes(information.read())
    assert {f"{top}/pyproject.toml", f"{top}/LICENSE", f"{top}/replay/cli/demo_data/cassette.jsonl"} <= names
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.parametrize(
    ("verb", "code", "message"),
    [
        (["demo"], 0, ""),
        (["report", "replay-demo.db", "--format", "html", "-o", "page.html"], 0, ""),
        (["compare", "--run", "replay-demo.db"], 0, ""),
        (
            ["align", "SAMPLE", "--reference", "REFERENCE"],
            2,
            "The pairing of calls needs more packages; install them with: pip",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_without_scipy_the_first_hour_works_and_the_rest_says_what_to_install(
    base_install: Path, verb: list[str], code: int, message: str
) -> None:
    known = {"SAMPLE": "traces/tea-7b_test_mcp_fuzzy.json", "REFERENCE": "traces/reference/reference.json"}
    words = [str(ROOT / known[word]) if word in known else word for word in verb]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *words], cwd=base_install, capture_output=True, text=True, check=False
    )
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr


@pytest.fixture(scope="module")
def base_install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base")


def test_a_test_of_many_tasks_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from replay.analysis.statistics import mcnemar
    from replay.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r"\[stats\]"):
        mcnemar(3, 9)
