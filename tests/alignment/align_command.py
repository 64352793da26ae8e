"""`replay align` run as a process, for the tests of the verb."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

START = "from replay.cli import main; main()"
Finished = subprocess.CompletedProcess[str]


class Align:
    """Runs the verb in a directory of its own."""

    def __init__(self, place: Path, cache: Path) -> None:
        self.place, self.cache = place, cache

    def write(self, name: str, *records: Any) -> str:
        (self.place / name).write_text(json.dumps(list(records)))
        return name

    def __call__(self, *arguments: str, before: str = "", check: bool = False) -> Finished:
        finished = subprocess.run(
            [sys.executable, "-c", f"{before}\n{START}", "align", *arguments],
            cwd=self.place,
            env=os.environ | {"XDG_CACHE_HOME": str(self.cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in finished.stderr, finished.stderr
        assert not check or finished.returncode == 0, finished.stderr
        return finished

    def models(self, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(*arguments, "--json", check=True).stdout)["models"]
        return found
