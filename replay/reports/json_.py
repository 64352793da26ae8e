"""The run document (`schemas/run.schema.json`), written call by call so that a large run takes no more memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TextIO

from replay.records import Record
from replay.records.files import RUN_FORMAT, RUN_VERSION
from replay.runfile import Run, call_rows, summarize, trajectory_rows


def write_json(run: Run, out: TextIO) -> None:
    """Write a whole run as one JSON document, a call a line."""
    out.write(f'{{"format": "{RUN_FORMAT}", "version": {RUN_VERSION}')
    _write_list(out, "servers", run.servers().values())
    _write_list(out, "trajectories", trajectory_rows(run))
    _write_list(out, "calls", call_rows(run))
    summary = summarize(run, most=1000).model_dump(mode="json")
    out.write(f',\n"summary": {_text(summary)}}}\n')


def _write_list(out: TextIO, name: str, records: Iterable[Record]) -> None:
    out.write(f',\n"{name}": [')
    for number, record in enumerate(records):
        out.write(("," if number else "") + "\n" + _text(record.model_dump(mode="json")))
    out.write("]")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
