"""Where a verb writes what it made: to stdout or to a file, in the format that is asked for or that the name tells."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from replay.cli.terminal import closed_pipe_ignored, echo_err, without_secrets
from replay.errors import UsageError
from replay.safety.filesystem import atomic_writer, file_stem
from replay.suggestions import nearest_name

F = TypeVar("F", bound=Callable[..., Any])

_SUFFIXES: Final = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
    ".xml": "junit",
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
}
_MAX_STEM: Final = 150


def output_options(help_text: str = "Write to this file.") -> Callable[[F], F]:
    """`-o FILE` and `--force`."""
    output = click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=help_text)
    force = click.option("--force", is_flag=True, help="Overwrite the output file.")
    return lambda function: output(force(function))


def format_option(formats: Sequence[str], default: str, help_text: str = "What to write.") -> Callable[[F], F]:
    """`--format NAME`, for `output_format`."""
    choice = click.Choice([*formats, *(["md"] if "markdown" in formats else [])])
    shown = f"{help_text}  [default: as the output is named, else {default}]"
    return click.option("--format", "form", type=choice, help=shown)


def output_format(
    asked: str | None,
    output: Path | None,
    formats: Sequence[str],
    default: str,
    option: str = "--format",
    *,
    force: bool,
) -> str:
    """The format: the one that is asked for, else the one that the output's name tells; the output may be written.

    Args:
        asked: by the option, if any.
        output: of `-o`.
        formats: those that the verb writes.
        default: of what goes to stdout.
        option: that names the format.
        force: a file that is there is overwritten.

    Raises:
        UsageError: the name tells none, or another one than is asked for; or it is as with `check_free`.
    """
    asked = "markdown" if asked == "md" else asked
    if output is None:
        return asked or default
    check_free(output, force=force)
    told = _SUFFIXES.get(output.suffix.lower())
    if asked is not None:
        if told in formats and told != asked:
            raise UsageError(f"{option} {asked} does not go with {output}, whose name says {told}")
        return asked
    if told is None or told not in formats:
        known = [suffix for form in formats for suffix, told in _SUFFIXES.items() if told == form]
        nearest = nearest_name(output.suffix.lower(), known, min_score=50) if output.suffix else None
        hint = f"did you mean {nearest}?" if nearest else f"or name the format with {option}"
        raise UsageError(f"{output}: its name must end in {', '.join(known)}; {hint}")
    return told


def check_free(path: Path, *, force: bool) -> None:
    """See that a file may be written.

    Raises:
        UsageError: it exists, and `force` is not set; or its directory does not.
    """
    if path.exists() and not force:
        raise UsageError(f"{path} exists; overwrite it with --force")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no directory {path.absolute().parent}")


def stdout_width() -> int:
    """Columns of stdout; a pipe is wide."""
    return shutil.get_terminal_size((160, 24)).columns


def write_output(content: Iterable[str] | bytes, output: Path | None) -> None:
    """Write to a file, whole or not at all; or a text to stdout, whether or not anybody reads it to its end."""
    if output is None:
        assert not isinstance(content, bytes)
        with closed_pipe_ignored():
            sys.stdout.writelines(content)
        return
    with atomic_writer(output, "replace") as out:
        if isinstance(content, bytes):
            out.buffer.write(content)
        else:
            out.writelines(content)
    echo_err(f"wrote {output}")


def json_text(document: Any) -> str:
    """A document without secrets, as the verbs print JSON."""
    return json.dumps(without_secrets(document), ensure_ascii=True, indent=1)


def print_json(document: Any) -> None:
    """Print a document."""
    click.echo(json_text(document))


def file_stems(names: Iterable[str]) -> Iterator[str]:
    """A file's name without its ending for each name: safe, and no two the same on any file system.

    Nothing in one leaves the directory, hides the file, or is refused by some file system.
    """
    taken: set[str] = set()
    for name in names:
        kept = file_stem(name, _MAX_STEM)
        if not kept or re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", kept):
            kept = f"trajectory_{kept}"
        stem, number = kept, 1
        while stem.lower() in taken:
            number += 1
            stem = f"{kept}-{number}"
        taken.add(stem.lower())
        yield stem
