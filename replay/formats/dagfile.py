"""Our own `*.trajectory.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import ValidationError

from replay.errors import FormatError
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.records import Trajectory
from replay.records.files import TRAJECTORY_FORMAT, TRAJECTORY_VERSION, TrajectoryFile, migrate_document


class DagFileReader:
    """Reads DAG files: one, or a list or JSON Lines of them."""

    name = TRAJECTORY_FORMAT
    title = "DAG files of replay"
    expected_shape = f'a DAG file ({{"format": "{TRAJECTORY_FORMAT}", ...}})'

    def sniff(self, head: Head) -> Match:
        """The stamp says it."""
        first = next(iter(head.elements), None)
        stamped = isinstance(first, dict) and first.get("format") == TRAJECTORY_FORMAT
        return Match(1.0, f'"format": "{TRAJECTORY_FORMAT}"') if stamped else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a DAG file; its source stays the one that the file names."""
        for element in document.elements():
            if isinstance(element.value, dict) and "format" not in element.value and document.shape == "lines":
                document.leave(element)
            else:
                yield _read(element.value, document.path, element.place)


def _read(value: Any, path: str, place: str) -> Trajectory:
    if not isinstance(value, dict) or value.get("format") != TRAJECTORY_FORMAT:
        raise FormatError(path, f'expected an object with "format": "{TRAJECTORY_FORMAT}"', place)
    try:
        document = migrate_document(value, TRAJECTORY_VERSION)
        trajectory = TrajectoryFile.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FormatError(path, f"{where}: {first['msg'].lower()}", place) from None
    except ValueError as error:
        raise FormatError(path, str(error), place) from None
    _check_graph(trajectory, path, place)
    return Trajectory(**{name: getattr(trajectory, name) for name in Trajectory.model_fields})


def _check_graph(trajectory: Trajectory, path: str, place: str) -> None:
    for position, count in Counter(call.position for call in trajectory.calls()).items():
        if count > 1:
            raise FormatError(path, f"position {position} stands for {count} calls; each call needs its own", place)
    sorter: TopologicalSorter[str] = TopologicalSorter()
    order = {call.position: number for number, step in enumerate(trajectory.steps) for call in step.calls}
    for number, edge in enumerate(trajectory.edges or ()):
        named, where = f"edge {edge.producer} -> {edge.consumer}", f"edges[{number}]"
        for end in (edge.producer, edge.consumer):
            if end not in order:
                raise FormatError(path, f"{named}: there is no call {end}", where)
        if order[edge.producer] > order[edge.consumer]:
            raise FormatError(path, f"{named} makes a cycle: it runs against the order of the steps", where)
        sorter.add(edge.consumer, edge.producer)
    try:
        sorter.prepare()
    except CycleError as error:
        raise FormatError(path, f"the edges make a cycle: {' -> '.join(reversed(error.args[1]))}", place) from None
