"""Cassettes: the answers of a run as JSON Lines, small enough to commit beside a test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from replay.errors import FormatError, UsageError
from replay.interpreter import Fleet
from replay.json_values import parse_json
from replay.records import Answer, FleetFacts, Server
from replay.records.files import (
    CASSETTE_FORMAT,
    CASSETTE_VERSION,
    CassetteAnswer,
    CassetteHeader,
    dump,
    migrate_document,
)
from replay.records.trajectory import is_stderr_key
from replay.runfile import Run
from replay.runfile.rows import arguments_of_answers, load_answers
from replay.safety.filesystem import atomic_writer, read_small_file
from replay.safety.redaction import Redactor

_MAX_BYTES: Final = 512_000_000


@dataclass(frozen=True)
class Cassette:
    """The answers of a fleet, by key."""

    path: str
    facts: FleetFacts
    servers: dict[str, Server]
    answers: dict[str, CassetteAnswer]
    torn: bool
    """The last line was cut off, and left out."""

    def differing(self, fleet: Fleet | None) -> list[str]:
        """Servers of the cassette that the fleet lacks, or starts in another way."""
        if fleet is None:
            return []
        return [
            name
            for name in self.servers
            if name not in fleet.servers
            or name not in self.facts.servers
            or fleet.digest(name) != self.facts.servers[name].digest
        ]

    def matching(self, fleet: Fleet | None) -> dict[str, Answer]:
        """The answers of those servers that are the same in the fleet, by key."""
        left_out = set(self.differing(fleet))
        return {key: line.answer for key, line in self.answers.items() if line.server not in left_out}

    def evidence(self, fleet: Fleet | None) -> dict[str, Any]:
        """What `classify_stored` takes of it, by the names of its arguments."""
        return {"facts": self.facts, "servers": self.servers, "answers": self.matching(fleet).get}

    def warnings(self, fleet: Fleet | None) -> Iterator[str]:
        """What a user should know before trusting the answers."""
        if self.torn:
            yield f"{self.path}: the last line is cut off; it is left out"
        for name in self.differing(fleet):
            server = self.servers[name]
            kind = "is not in the fleet" if fleet is None or name not in fleet.servers else "starts in another way"
            recorded = f" (recorded from {server.title or name} {server.version})" if server.version else ""
            yield f"{self.path}: server {name} {kind}{recorded}; its answers are not used"


def export_cassette(run: Run, path: Path, *, force: bool = False) -> int:
    """Write the answers of a run; returns how many.

    Raises:
        UsageError: the file exists already (and not `force`), or the run holds no answer.
    """
    if path.exists() and not force:
        raise UsageError(f"{path} exists; overwrite it with --force")
    facts = run.facts()
    if facts is None:
        raise UsageError(
            f"{run.path} holds no answers of servers, as no call was sent; with a fleet calls are sent: "
            f"replay classify FILES --servers FLEET --run {run.path}"
        )
    redactor = Redactor()
    count, arguments = 0, arguments_of_answers(run.connection)
    with atomic_writer(path, private=True) as out:
        header = CassetteHeader(fleet=facts, servers=tuple(run.servers().values()))
        out.write(_line(redactor.json(dump(header))))
        for key, server, tool, answer in load_answers(run.connection):
            shown = arguments.get(key)
            line = CassetteAnswer(key=key, server=server, tool=tool, answer=answer, arguments=shown)
            out.write(_line({**redactor.json(dump(line)), "key": key}))
            count += not is_stderr_key(key)
    return count


def read_cassette(path: Path) -> Cassette:
    """Read a cassette; a torn last line is left out.

    Raises:
        FormatError: it cannot be read, is not a cassette, or a line other than the last is broken.
    """
    try:
        lines = read_small_file(path, _MAX_BYTES).decode().splitlines()
    except OSError as error:
        raise FormatError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(str(path), "not UTF-8 text; expected a cassette (JSON Lines)") from None
    header = _header(path, lines[0] if lines else "")
    answers: dict[str, CassetteAnswer] = {}
    torn = False
    for number, line in enumerate(lines[1:], 2):
        try:
            answer = CassetteAnswer.model_validate(parse_json(line))
        except ValueError as error:
            if number != len(lines):
                raise FormatError(str(path), f"not a stored answer: {_in_words(error)}", f"line {number}") from None
            torn = True
        else:
            answers[answer.key] = answer
    return Cassette(str(path), header.fleet, {server.name: server for server in header.servers}, answers, torn)


def _header(path: Path, line: str) -> CassetteHeader:
    try:
        value = parse_json(line)
    except ValueError:
        value = None
    try:
        if not isinstance(value, dict) or value.get("format") != CASSETTE_FORMAT:
            raise ValueError(f'expected a cassette, whose first line holds "format": "{CASSETTE_FORMAT}"')
        return CassetteHeader.model_validate(migrate_document(value, CASSETTE_VERSION))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FormatError(str(path), f"{where}: {first['msg'].lower()}", "line 1") from None
    except ValueError as error:
        raise FormatError(str(path), str(error), "line 1") from None


def _in_words(error: ValueError) -> str:
    message = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return message[:1].lower() + message[1:]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"
