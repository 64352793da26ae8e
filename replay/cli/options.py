"""Options and output helpers that several verbs share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from replay.replayer.pool import Place

F = TypeVar("F", bound=Callable[..., Any])

_BARS: list[Console] = []
"""Consoles on which a progress bar is drawn now."""
DEFAULT_RUN = Path("replay-run.db")
DEFAULT_FLEET = Path("servers.yaml")


def run_option(help_text: str = "The run file.") -> Callable[[F], F]:
    """`--run FILE`."""
    return click.option(
        "--run",
        "run_path",
        type=click.Path(path_type=Path, dir_okay=False),
        default=DEFAULT_RUN,
        show_default=True,
        help=help_text,
    )


def read_run_option(function: F) -> F:
    """`--run FILE` of a verb that reads a run; one that stands alone as an argument is taken for it."""
    argument = click.argument(
        "run_argument", metavar="", required=False, type=click.Path(path_type=Path, dir_okay=False)
    )
    option = click.option(
        "--run",
        "run_path",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"The run file.  [default: {DEFAULT_RUN}]",
    )
    return argument(option(function))


def run_to_read(run_path: Path | None, run_argument: Path | None) -> Path:
    """The run that a verb with `read_run_option` reads.

    Raises:
        UsageError: two different ones are named.
    """
    from replay.errors import UsageError

    if run_path is not None and run_argument is not None and run_path != run_argument:
        raise UsageError(f"two runs are named: --run {run_path}, and {run_argument}")
    return run_path or run_argument or DEFAULT_RUN


def fleet_option(function: F) -> F:
    """`--servers FILE`."""
    return click.option(
        "--servers",
        "fleet_path",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Fleet file: our YAML, or the server JSON of an MCP client.  [default: servers.yaml, where there is one]",
    )(function)


def workers_options(function: F) -> F:
    """`--workers N` and `--cluster ADDRESS`."""
    workers = click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Share the work among N processes on this machine.",
    )
    cluster = click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Share the work among the workers of a Dask scheduler, e.g. tcp://10.0.0.1:8786 (needs the extra "
        "`cluster`; see docs/cluster.md).",
    )
    return workers(cluster(function))


def place_of(workers: int | None, cluster: str | None, threads: int = 1) -> Place | None:
    """Where the workers are; None where this process does all.

    Args:
        workers: of `--workers`.
        cluster: of `--cluster`.
        threads: trajectories side by side in each process that is started here.

    Raises:
        UsageError: both are given.
    """
    from replay.errors import UsageError

    if workers is None and cluster is None:
        return None
    if workers is not None and cluster is not None:
        raise UsageError("--workers starts processes here, --cluster uses those of a scheduler: give one of them")
    from replay.replayer.pool import Place

    return Place(workers, cluster, threads)


def names_option(function: F) -> F:
    """`--names PATTERN`."""
    return click.option(
        "--names",
        metavar="PATTERN",
        help="How file names give model and task, e.g. '{model}_{task}.json'.",
    )(function)


def files_argument(function: F) -> F:
    """`FILES...`."""
    return click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))(function)


def known_option(function: F) -> F:
    """`--known FILE`."""
    return click.option(
        "--known",
        "known_path",
        type=click.Path(path_type=Path, dir_okay=False),
        help="What is known of failures.  [default: replay-known.yaml beside the run, here or in the repository]",
    )(function)


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(function)


def csv_option(function: F) -> F:
    """`--csv`."""
    return click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, a row a call.")(function)


@contextmanager
def closed_pipe_is_no_error() -> Iterator[None]:
    """Go on where nobody reads stdout any more (`| head`): the exit code still tells what was found."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Send what is still to be printed nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo_err(text: str) -> None:
    """Print a line on stderr, without secrets and made safe for a terminal; stdout is for data.

    A progress bar makes room for it.
    """
    from replay.safety.redaction import clean
    from replay.safety.text import printable

    line = printable(clean(text))
    if _BARS:
        _BARS[-1].print(line, markup=False, highlight=False, soft_wrap=True, emoji=False)
    else:
        click.echo(line, err=True)


def without_secrets(value: Any) -> Any:
    """A text, or a document before it becomes one, without secrets: for stdout, what `echo_err` does for stderr."""
    from replay.safety.redaction import Redactor

    return Redactor().json(value)


@contextmanager
def bar_on(console: Console) -> Iterator[None]:
    """As long as it lasts a progress bar is drawn on the console, and `echo_err` prints above it."""
    _BARS.append(console)
    try:
        yield
    finally:
        _BARS.remove(console)


def is_interactive() -> bool:
    """Whether stderr can show a progress bar: a terminal, not in CI, colours not refused."""
    return sys.stderr.isatty() and not os.environ.get("CI") and not os.environ.get("NO_COLOR")
