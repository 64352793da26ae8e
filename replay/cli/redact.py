"""`replay redact`."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from replay.cli.output import check_free, output_options, write_output
from replay.cli.terminal import echo_err
from replay.errors import FormatError
from replay.json_values import parse_json
from replay.safety.filesystem import read_small_file
from replay.safety.identities import Identities
from replay.safety.redaction import Redactor, secrets_around
from replay.safety.secret_patterns import REDACTED

EXAMPLES = """\b
Examples:
  replay redact session.jsonl -o shared.jsonl
  replay redact results.json --name 'Ada Lovelace' --name acme > shared.json
"""
_MAX_BYTES = 2**31
"""Of a file: it is held in memory."""


@click.command("redact", epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", "names", multiple=True, metavar="TEXT", help="Replace this name too. Repeatable.")
@click.option("--take-out", "patterns", multiple=True, metavar="REGEX", help="Take out what this matches. Repeatable.")
@output_options()
def redact(file: Path, names: tuple[str, ...], patterns: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Replace secrets, home paths, people and hosts in a session, to attach it.

    FILE is JSON, JSON Lines or text, and stays what it is: the session can be judged as before. A name gets the same
    stand-in wherever it stands (user-1, person-1, host-1.example). Secrets of a known shape, of the environment and
    under the names of keys and tokens are taken out; a key that stood under its name once, wherever it stands. A secret
    of a shape that nobody knows, and a name that stands in no path, address or author's line, stay: look through the
    file before you share it.
    """
    if output is not None:
        check_free(output, force=force)
    values, lines = _read(file)
    identities = known_identities(names)
    redactor = Redactor(secrets_around(os.environ), patterns)
    for value in values:
        redactor.learn(value)
    cleaned = [redactor.json(value) for value in values]
    for value in cleaned:
        identities.learn(value)
    texts = [_text(identities.replaced(value), lines=lines) for value in cleaned]
    write_output(texts, output)
    counted = [f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in identities.counts.items()]
    taken = sum(text.count(REDACTED) for text in texts)
    echo_err(f"taken out: {taken} secrets; replaced: {', '.join(counted) or 'no name'}")
    echo_err("only what has a known shape is found: a token of another shape stays, unless --take-out REGEX matches it")
    echo_err("look it through before you share it")


def known_identities(people: Iterable[str] = ()) -> Identities:
    """This machine, its user, and these people; what else there is, texts tell."""
    return Identities(_own(getpass.getuser), people, _own(socket.gethostname))


def _own(function: Any) -> list[str]:
    """A name of this machine or its user, where there is one."""
    try:
        return [function()]
    except (OSError, KeyError, ImportError):
        return []


def _read(file: Path) -> tuple[list[Any], bool]:
    """The values of a file, and whether each is a line of its own; of what is not JSON the lines are texts."""
    try:
        text = read_small_file(file, _MAX_BYTES).decode()
    except OSError as error:
        raise FormatError(str(file), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(str(file), "not UTF-8 text, as JSON and JSON Lines are") from None
    try:
        return [parse_json(text)], False
    except ValueError:
        return list(_lines(text)), True


def _lines(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        try:
            value = parse_json(line)
        except ValueError:
            value = None
        yield value if isinstance(value, dict | list) else line


def _text(value: Any, *, lines: bool) -> str:
    if lines and isinstance(value, str):
        return f"{value}\n"
    return json.dumps(value, ensure_ascii=False, indent=None if lines else 1) + "\n"
