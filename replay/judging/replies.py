"""What a judge's reply says: the JSON in it, and whether every score is there and within its scale."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from replay.judging.prompts import Asked


def scores_in(reply: str, asked: Asked) -> dict[str, float]:
    """The scores of a reply, by dimension; those of pairs as `R1P2`.

    Raises:
        ValueError: it holds no JSON object with all of them, or one is not within the scale; says which.
    """
    value = next(_objects(reply), None)
    if value is None:
        raise ValueError("there is no JSON object in the reply")
    if asked.pairs is not None:
        return _pairs(value, asked)
    missing = [name for name in asked.dimensions if name not in value]
    if missing:
        raise ValueError(f"no score for {', '.join(missing)}")
    return {name: _score(value[name], name, asked) for name in asked.dimensions}


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text, the outermost ones alone."""
    decoder, start = json.JSONDecoder(), reply.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = reply.find("{", end)


def _pairs(value: dict[str, Any], asked: Asked) -> dict[str, float]:
    assert asked.pairs is not None
    rows, columns = asked.pairs
    matrix = value.get("scores")
    if not isinstance(matrix, list) or len(matrix) != rows:
        raise ValueError(f'"scores" must have {rows} rows')
    for number, row in enumerate(matrix, 1):
        if not isinstance(row, list) or len(row) != columns:
            raise ValueError(f'row {number} of "scores" must have {columns} numbers')
    return {
        f"R{row}P{column}": _score(matrix[row - 1][column - 1], f"R{row}P{column}", asked)
        for row in range(1, rows + 1)
        for column in range(1, columns + 1)
    }


def _score(value: Any, name: str, asked: Asked) -> float:
    least, most = asked.scale
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is not a number")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value:g}, outside {least:g} to {most:g}")
    if asked.whole_numbers and value != int(value):
        raise ValueError(f"{name} is {value:g}, not a whole number")
    return float(value)
