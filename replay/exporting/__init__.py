"""Trajectories of a run in the formats of other tools, with their verdicts, so that other viewers show ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from replay.errors import UsageError
from replay.exporting import atif, chat, otlp
from replay.records import JsonObject
from replay.runfile import Run
from replay.runfile.trajectory_queries import (
    StoredTrajectory,
    ids_of_several_models,
    next_trajectory,
    stored_trajectory,
)
from replay.safety.redaction import Redactor

FORMATS: Mapping[str, Callable[[Iterable[StoredTrajectory]], Iterator[tuple[str, JsonObject]]]] = {
    "atif": atif.documents,
    "otlp": otlp.documents,
    "inspect": chat.inspect_documents,
    "openai": chat.openai_documents,
}
"""Each format: what gives its documents, each with a name."""


def export(
    run: Run,
    format: str,  # noqa: A002
    *,
    trajectory: str | None = None,
    model: str | None = None,
) -> Iterator[tuple[str, JsonObject]]:
    """The documents of a run, each with a name for its file, without secrets.

    The name is the trajectory's id, after its model where several models have that id.

    Args:
        run: open for reading.
        format: one of `FORMATS`.
        trajectory: only those with this id.
        model: only those of this model.

    Raises:
        UsageError: nothing has that id or model, or the run is empty.
    """
    redactor = Redactor()
    shared = ids_of_several_models(run.connection)
    last: list[StoredTrajectory] = []

    def noted() -> Iterator[StoredTrajectory]:
        for stored in _selected(run, trajectory, model):
            last[:] = [stored]
            yield stored

    for name, document in FORMATS[format](noted()):
        told_apart = name in shared and name == last[0].record.id
        yield f"{last[0].model}_{name}" if told_apart else name, redactor.json(document)
    if not last:
        wanted = [f"the id {trajectory!r}" if trajectory else "", f"the model {model!r}" if model else ""]
        said = " and ".join(part for part in wanted if part)
        raise UsageError(f"{run.path}: no trajectory with {said}" if said else f"{run.path} holds no trajectory yet")


def _selected(run: Run, trajectory: str | None, model: str | None) -> Iterator[StoredTrajectory]:
    row = next_trajectory(run.connection, -1)
    while row is not None:
        stored = stored_trajectory(run.connection, row)
        if (
            stored is not None
            and trajectory in {None, stored.record.id}
            and model in {None, stored.model, stored.record.model}
        ):
            yield stored
        row = next_trajectory(run.connection, row)
