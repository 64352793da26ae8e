"""The browser ends with its terminal, whatever signals are ignored."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.pseudo_terminal import terminal_of

IGNORING = (
    "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "from replay.cli import main; main()"
)


@pytest.mark.parametrize("judged_first", [False, True])
def test_it_ends_although_the_hang_up_signal_is_ignored(sample: Path, tmp_path: Path, judged_first: bool) -> None:
    opened = sorted(sample.parent.glob("*_test_mcp_fuzzy.json"))[:1] if judged_first else [sample]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    arguments = ["-c", IGNORING, "browse", *map(str, opened)]
    with terminal_of(arguments, tmp_path, TMPDIR=str(temporary)) as terminal:
        terminal.wait_for(b"Overview")
        terminal.read(0.3)
        terminal.hang_up()
        assert terminal.process.wait(30) == 128 + signal.SIGHUP
    assert not list(temporary.iterdir())
