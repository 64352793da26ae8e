"""The terminal browser. It draws records and asks the run file; it computes nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def browse_run(
    path: Path,
    *,
    label: str | None = None,
    against: Path | None = None,
    filter_text: str | None = None,
    light: bool = False,
    clipboard_file: Path | None = None,
    clean_up: Callable[[], None] | None = None,
) -> None:
    """Open a run in the terminal, until the user leaves.

    Args:
        path: of the run file.
        label: how it is called on the screen; by default by its name.
        against: a second run, to compare with.
        filter_text: begin with the list of the calls that match.
        light: light colours.
        clipboard_file: what is copied is also written there.
        clean_up: called where the terminal goes away: nothing after this function runs then.

    Raises:
        RunFileError: there is no run, or the file is not a run, is newer than we are, or is damaged.
        UsageError: the filter has an unknown key or value.
        SystemExit: it broke, and said so.
    """
    from replay_tui.app import BrowseApp
    from replay_tui.browser import OpenRun
    from replay_tui.terminal import end_with_terminal
    from replay_tui.theme import DARK, LIGHT

    end_with_terminal(clean_up)
    open_run = OpenRun(path, label, against)
    try:
        if filter_text:
            open_run.parse(filter_text)
        theme = LIGHT.name if light else DARK.name
        app = BrowseApp(open_run, clipboard_file=clipboard_file, theme=theme, start=filter_text)
        app.run()
    finally:
        open_run.close()
    if app.damage is not None:
        raise app.damage
    if app.return_code:
        raise SystemExit(app.return_code)
