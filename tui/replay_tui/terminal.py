"""What is between the browser and the terminal: safe lines, its end, and the user's editor in its place."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from replay.runfile.trajectory_queries import StoredTrajectory
from replay.safety import posix
from replay.safety.text import printable

_PAUSE_SECONDS: Final = 1.0
_MAX_SEARCHED: Final = 50_000_000
"""Bytes of a results file that are searched for a trajectory's line."""
_LINE: Final = re.compile(r"line (\d{1,9})\b")
_KNOW_DOUBLE_DASH: Final = frozenset({"vi", "vim", "nvim", "gvim", "view", "nano"})
"""Editors that take what follows `--` for the name of a file, whatever it begins with."""


class PlainText(LineFilter):
    """Shows what a terminal would act on as an escape, in as many cells as it was given, and lets no link through.

    Every line of every widget passes it. Our own widgets make their text safe before they lay it out; this holds for
    those of Textual too: the field of the filter, notifications, the palette.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Make the segments of one line safe."""
        return [self._safe(segment) for segment in segments]

    def _safe(self, segment: Segment) -> Segment:
        text, style, control = segment
        shown = text if text.isascii() and text.isprintable() else printable(text.replace("\n", " ").replace("\t", " "))
        if shown != text:
            shown = set_cell_size(shown, cell_len(text))
        if style is not None and style.link:
            style = style.update_link(None)
        return Segment(shown, style, control)


PLAIN_TEXT: Final = PlainText()


def end_with_terminal(clean_up: Callable[[], None] | None = None) -> None:
    """Watch the terminal from a thread of its own, and end when its other end was closed.

    The kernel says so to the foreground of a session only, and not to who ignores the signal; and a program that writes
    to a terminal that is gone waits for ever. So this relies on neither the signal nor the screens.

    Args:
        clean_up: called before the end.
    """
    if posix.termios is None:
        return
    threading.Thread(target=_watch, args=(clean_up,), name="terminal-watch", daemon=True).start()


def _watch(clean_up: Callable[[], None] | None) -> None:
    while not _is_gone():
        time.sleep(_PAUSE_SECONDS)
    if clean_up is not None:
        with suppress(OSError):
            clean_up()
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(_PAUSE_SECONDS)
    os._exit(128 + signal.SIGHUP)  # the signal is ignored, as under nohup: the screens would spin on the end of input


def _is_gone() -> bool:
    try:
        posix.termios.tcgetattr(sys.__stdin__ or 0)
    except (posix.termios.error, OSError, ValueError):
        return True
    return False


def source_line(stored: StoredTrajectory) -> int | None:
    """The line of its results file where a trajectory begins, as far as that can be told."""
    told = _LINE.match(stored.record.source.position)
    return int(told[1]) if told else _line_with(Path(stored.path), stored.record.id)


def _line_with(path: Path, name: str) -> int | None:
    """The first line that holds the id as a JSON string."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_SEARCHED:
            return None
        needle = f'"{name}"'.encode("utf-8", "replace")
        with path.open("rb") as file:
            return next((number for number, line in enumerate(file, 1) if needle in line), None)
    except OSError:
        return None


def open_in_editor(path: Path, line: int | None) -> str | None:
    """Run the user's editor on a line of a file; the reason where that cannot be.

    The name of the file is a stranger's: it reaches the editor as an absolute path, so that none is taken for an
    option or a command (`+call system(...)` is one for vim).
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        return "set $EDITOR to open it from here"
    if not path.exists():
        return "the file is not there any more"
    try:
        command = shlex.split(editor)
        command += [f"+{line}"] if line else []
        command += ["--"] if Path(command[0]).name in _KNOW_DOUBLE_DASH else []
        subprocess.run([*command, str(path.absolute())], check=False)
    except OSError as error:
        return f"{printable(editor)}: {error.strerror}"
    except (ValueError, IndexError) as error:  # a quote that is not closed, no word at all
        return f"$EDITOR is {printable(editor)!r}: {error}"
    return None
