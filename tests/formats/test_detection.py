"""Files that are no trajectories, of the kinds that lie beside them, are refused with what was looked for."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FormatError, UnknownFormatError
from replay.formats import open_file
from replay.formats.readers import READERS

WORDS = [
    "name", "version", "date", "count", "total", "path", "status", "user", "owner", "label", "score", "items", "tags",
    "notes", "config", "source", "target",
]  # fmt: skip

DOCUMENTS: dict[str, Any] = {
    "package": {"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {"a": "^1"}},
    "tsconfig": {"compilerOptions": {"strict": True}, "include": ["src"]},
    "geojson": {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {}, "properties": {}}]},
    "openapi": {"openapi": "3.1.0", "info": {"title": "x"}, "paths": {"/a": {"get": {"responses": {}}}}},
    "schema": {"$schema": "x", "type": "object", "properties": {"a": {"type": "string"}}},
    "notebook": {"cells": [{"cell_type": "code", "source": ["1"], "outputs": []}], "metadata": {}, "nbformat": 4},
    "lock": {"lockfileVersion": 3, "packages": {"": {"name": "x"}}},
    "manifest": {"results": [{"path": "a", "size": 3}], "count": 1},
    "api page": {"data": [{"id": 1, "attributes": {"title": "x"}}], "meta": {"page": 1}},
    "tool list": [{"name": "read", "description": "Reads", "inputSchema": {"type": "object"}}],
    "tasks": [{"task_id": 1, "instruction": "Do it", "answer": "42"}],
    "metrics": {"accuracy": 0.5, "per_task": {"a": 1}},
    "workflow": {"steps": {"build": {"run": "make"}}, "on": "push"},
    "chat export": {"title": "x", "mapping": {"a": {"message": None, "children": []}}},
    "leaderboard": {"gpt-5": {"pass": 0.5}, "opus": {"pass": 0.6}},
    "issues": [{"number": 1, "title": "x", "user": {"login": "a"}, "state": "open"}],
    "logs": [{"level": "info", "msg": "x", "ts": 1}],
    "events": [{"type": "click", "timestamp": "2026-01-01", "target": "a"}],
}


def _value(draw: random.Random, depth: int = 0) -> Any:
    if depth < 3 and draw.random() < 0.4:
        if draw.random() < 0.5:
            return {draw.choice(WORDS): _value(draw, depth + 1) for _ in range(draw.randint(1, 4))}
        return [_value(draw, depth + 1) for _ in range(draw.randint(1, 3))]
    return draw.choice([1, 2.5, "text", "2026-01-01", True, None])


def _generated(number: int) -> str:
    draw = random.Random(number)
    document = {word: _value(draw) for word in draw.sample(WORDS, 4)}
    kind = number % 4
    if kind == 0:
        return json.dumps(document, indent=draw.choice([None, 2]))
    if kind == 1:
        return "\n".join(json.dumps({**document, "count": line}) for line in range(5))
    if kind == 2:
        return "\n".join(f"{key}:\n  - {json.dumps(value)}" for key, value in document.items())
    return " ".join(draw.choices(WORDS, k=80)) + "\n"


def _refusal(path: Path, text: str) -> FormatError:
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        open_file(path)
    return error.value


@pytest.mark.parametrize("text", [_generated(number) for number in range(164)])
def test_a_generated_file_of_no_format_is_refused(tmp_path: Path, text: str) -> None:
    error = _refusal(tmp_path / "file.json", text)
    assert getattr(error, "looked_for", "") or "expected JSON" in str(error)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("lines", [True, False])
def test_a_json_file_of_another_kind_is_refused_with_what_was_looked_for(
    tmp_path: Path, name: str, lines: bool
) -> None:
    document = DOCUMENTS[name]
    records = document if isinstance(document, list) else [document]
    error = _refusal(tmp_path / "file.json", "\n".join(map(json.dumps, records * 3)) if lines else json.dumps(document))
    assert isinstance(error, UnknownFormatError)
    assert all(reader.expected_shape in error.looked_for for reader in READERS)


def test_readers_have_names_titles_and_shapes_of_their_own() -> None:
    for field in ("name", "title", "expected_shape"):
        values = [getattr(reader, field) for reader in READERS]
        assert all(values)
        assert len(set(values)) == len(values)
