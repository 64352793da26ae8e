"""Standard output and standard error, whoever is behind them, and the signals that end a verb.

Data goes to standard output, narration to standard error; nothing that a terminal acts on passes either of them.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, TypeVarTuple, Unpack, cast

import click

from replay.errors import DISTRIBUTION
from replay.safety import posix
from replay.safety.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from replay.errors import ReplayError

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")
VERBOSE: Final = "REPLAY_VERBOSE"
"""The environment variable that `--verbose` sets."""
LINE_EVERY: Final = 10
"""Seconds from one line of progress to the next."""
_SIGNALS: Final = (signal.SIGTERM, *([posix.HANGUP] if posix.HANGUP is not None else []))
_BARS: Final[list[Console]] = []
"""Consoles on which a progress bar is drawn now."""


def make_streams_safe() -> None:
    """Whatever a verb prints is made safe, whether or not its own code thought of that."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, SafeStream):
            setattr(sys, name, cast("TextIO", SafeStream(stream)))


class SafeStream:
    """A text stream that shows what a terminal would act on as the escape that it is.

    Args:
        stream: where the text goes. One for ASCII alone is made one for UTF-8.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        """All else is that of the stream; text takes no other way than `write`, protocols take its `buffer`."""
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        """Write a text, made safe."""
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Write texts, made safe."""
        for line in lines:
            self.write(line)


def typed_command() -> tuple[str, ...]:
    """What a user types to run this program again; `uvx` and `pipx run` put no `replay` on the path."""
    if Path(sys.argv[0]).stem != DISTRIBUTION:
        return ("replay",)
    folders = Path(sys.prefix).parts
    if "pipx" in folders:  # which may start uv; below `venvs` it keeps what stays installed
        return ("replay",) if "venvs" in folders else ("pipx", "run", DISTRIBUTION)
    return ("uvx", DISTRIBUTION) if "UV" in os.environ else ("replay",)


def echo_err(text: str) -> None:
    """Print a line on stderr, without secrets and made safe for a terminal; stdout is for data.

    A progress bar makes room for it.
    """
    from replay.safety.redaction import clean

    line = printable(clean(text))
    if _BARS:
        _BARS[-1].print(line, markup=False, highlight=False, soft_wrap=True, emoji=False)
    else:
        click.echo(line, err=True)


def note(text: str) -> None:
    """Tell of something on stderr that ends nothing."""
    echo_err(f"note: {text}")


def error_text(error: ReplayError) -> str:
    """An error in a line; with `--verbose` also the shapes of files that were looked for."""
    from replay.errors import UnknownFormatError

    if not isinstance(error, UnknownFormatError):
        return str(error)
    if os.environ.get(VERBOSE):
        return f"{error}. Looked for: {error.looked_for}"
    return f"{error} (--verbose lists the shapes that are read)"


def is_interactive() -> bool:
    """Whether stderr can show a progress bar: a terminal, not in CI, colours not refused."""
    return sys.stderr.isatty() and not os.environ.get("CI") and not os.environ.get("NO_COLOR")


class SlowLines:
    """Tells how far something is, where nobody watches a bar: a line every ten seconds."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def tell(self, text: str) -> None:
        """Print the line, unless the last one is too young."""
        if time.monotonic() - self._told >= LINE_EVERY:
            self._told = time.monotonic()
            echo_err(text)


@contextmanager
def bar_on(console: Console) -> Iterator[None]:
    """As long as it lasts a progress bar is drawn on the console, and `echo_err` prints above it."""
    _BARS.append(console)
    try:
        yield
    finally:
        _BARS.remove(console)


def without_secrets(value: Any) -> Any:
    """A text, or a document before it becomes one, without secrets: for stdout, what `echo_err` does for stderr."""
    from replay.safety.redaction import Redactor

    return Redactor().json(value)


@contextmanager
def closed_pipe_ignored() -> Iterator[None]:
    """Go on where nobody reads stdout any more (`| head`): the exit code still tells what was found."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Send what is still to be printed nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_in_order(function: Callable[[Unpack[_Arguments]], Awaitable[_Result]], *arguments: *_Arguments) -> _Result:
    """Run an async function to its end; an interruption ends it in order."""
    import anyio  # not at the top: not every verb waits for something

    with ended_in_order():
        return anyio.run(function, *arguments)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """While the block runs, take SIGTERM and SIGHUP for SIGINT; the exit status still names the first that came.

    A signal that is ignored, as SIGHUP is under `nohup`, stays so.
    """
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        if len(received) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if not received:
            raise
        echo_err("replay: interrupted; what was done is kept, the same command goes on from there")
        raise SystemExit(128 + received[0]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
