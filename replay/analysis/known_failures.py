"""`replay-known.yaml`: which failures are known, in a file that travels with the repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from replay.errors import InputError
from replay.records.finding import KNOWN_FORMAT, KNOWN_VERSION, KnownFailure, KnownFile
from replay.safety.filesystem import read_small_file, write_atomically

NAME: Final = "replay-known.yaml"
_MAX_BYTES: Final = 5_000_000
_HEAD: Final = f"""\
# Failures that are known: `replay known add` writes here, and so may you. docs/reports.md says more.
format: {KNOWN_FORMAT}
version: {KNOWN_VERSION}
"""


@dataclass(frozen=True)
class KnownFailures:
    """What a file says; without a file nothing is known."""

    path: Path | None = None
    failures: Mapping[str, KnownFailure] = field(default_factory=dict)

    def unseen(self, fingerprints: Iterable[str]) -> list[str]:
        """The fingerprints of the file that are not among these."""
        seen = set(fingerprints)
        return [mark for mark in self.failures if mark not in seen]


def find_known_file(run: Path, directory: Path | None = None) -> Path | None:
    """The file beside the run, else the one in the working directory or above it, up to the repository's root.

    Args:
        run: path of a run file.
        directory: where to look from; by default the working directory.
    """
    here = (directory or Path.cwd()).absolute()
    places = [run.absolute().parent, here]
    if not (here / ".git").exists():
        for parent in here.parents:
            if (parent / ".git").exists():
                places += [*here.parents[: here.parents.index(parent)], parent]
                break
    return next((place / NAME for place in places if (place / NAME).is_file()), None)


def read_known_file(path: Path | None) -> KnownFailures:
    """Read a file.

    Args:
        path: of the file; None where there is none.

    Raises:
        InputError: it cannot be read, or is not what it should be; the place and what was expected are named.
    """
    if path is None:
        return KnownFailures()
    try:
        data = yaml.load(_text_of(path), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise InputError(str(path), "no such file; make one with: replay known add FINGERPRINT --note ...") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(str(path), f"cannot be read: {problem}") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise InputError(str(path), f"is not YAML: {getattr(problem, 'problem', None) or problem}", line) from None
    except (RecursionError, ValueError) as problem:
        raise InputError(str(path), f"holds what cannot be read: {problem}") from None
    return KnownFailures(path, _checked(path, data).failures)


def _text_of(path: Path) -> str:
    return read_small_file(path, _MAX_BYTES).decode("utf-8-sig")


def add_known(path: Path, mark: str, known: KnownFailure) -> None:
    """Write a failure into a file, which is made where there is none; comments in it stay where that can be done.

    Raises:
        InputError: the file is there and is broken.
    """
    before = read_known_file(path).failures if path.exists() else {}
    after = {**before, mark: known}
    if path.exists() and mark not in before:
        longer = f"{_text_of(path).rstrip()}\n{_entry(mark, known)}"
        if _says(longer, after):
            write_atomically(path, longer)
            return
    write_atomically(path, _text(after))


def remove_known(path: Path, mark: str) -> None:
    """Take a failure out of a file.

    Raises:
        InputError: the file is broken, or has no such failure.
    """
    before = read_known_file(path).failures
    if mark not in before:
        raise InputError(str(path), f"has no failure {mark}")
    write_atomically(path, _text({key: value for key, value in before.items() if key != mark}))


def _checked(path: Path, data: Any) -> KnownFile:
    if not isinstance(data, dict):
        raise InputError(str(path), f"is not a mapping; it begins with `format: {KNOWN_FORMAT}`")
    if data.get("format") != KNOWN_FORMAT:
        raise InputError(str(path), f"expected `format: {KNOWN_FORMAT}`", "format")
    if data.get("version") != KNOWN_VERSION or isinstance(data.get("version"), bool):
        raise InputError(str(path), f"only version {KNOWN_VERSION} is known to this replay", "version")
    try:
        return KnownFile.model_validate({**data, "failures": data.get("failures") or {}})
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise InputError(str(path), _message(first), place) from None


def _message(error: Any) -> str:
    if "[key]" in error["loc"]:
        return "is not a fingerprint: twelve of 0-9 and a-f, as `replay known` lists them"
    if error["type"] == "extra_forbidden":
        return f"is not a field; there are {', '.join(KnownFailure.model_fields)}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[0].lower() + message[1:]


class _Loader(yaml.SafeLoader):
    """Keys stay as they are written, since a fingerprint may be all digits; one that stands twice is an error."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = str(key.value)
        if name in found:
            raise yaml.constructor.ConstructorError(None, None, f"{name} stands twice", key.start_mark)
        found[name] = loader.construct_object(value, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _text(failures: Mapping[str, KnownFailure]) -> str:
    return _HEAD + (
        "failures:\n" + "".join(_entry(*item) for item in failures.items()) if failures else "failures: {}\n"
    )


def _entry(mark: str, known: KnownFailure) -> str:
    fields = known.model_dump(exclude_none=True)
    body = yaml.safe_dump({mark: fields}, sort_keys=False, allow_unicode=True, width=100, default_style=None)
    return "".join(f"  {line}\n" for line in body.splitlines())


def _says(text: str, failures: Mapping[str, KnownFailure]) -> bool:
    try:
        data = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
        return KnownFile.model_validate(data).failures == failures
    except (yaml.YAMLError, ValidationError):
        return False
