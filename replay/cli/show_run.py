"""`replay show --run`: a trajectory of a run, with the verdicts of its calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from replay.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replay.dag import Graph
    from replay.records import Trajectory
    from replay.runfile import Run
    from replay.runfile.task_runs import SessionFacts
    from replay.runfile.trajectory_queries import TrajectoryPlace

    Document: TypeAlias = Callable[[Trajectory, Graph], dict[str, Any]]


def show_run(path: Path, identifier: str | None, form: str | None, document: Document | None) -> None:
    """Print a trajectory of a run, or list them where no id is given and there are several.

    Args:
        path: of the run file.
        identifier: `ID`, or `MODEL:ID`.
        form: `dot` or `mermaid`, for a graph.
        document: makes the JSON of a trajectory; None for text.

    Raises:
        RunFileError: there is no run, or it is not a run file.
        UsageError: there is no such trajectory, or a graph is asked for and there are several.
    """
    from replay.runfile import Run
    from replay.runfile.trajectory_queries import find_trajectory, trajectory_places

    with Run.read(path) as run:
        places = trajectory_places(run)
        if identifier is None and len(places) != 1:
            if form:
                which = f"say which: replay show --run {path} ID --{form}"
                raise UsageError(f"{path} holds {len(places)} trajectories; {which}")
            _list(run, places, as_json=document is not None)
            return
        place = places[0] if identifier is None else find_trajectory(run, identifier)
        click.echo(_one(run, place, form, document))


def _one(run: Run, place: TrajectoryPlace, form: str | None, document: Document | None) -> str:
    from replay.dag import Graph, render_text, to_dot, to_mermaid
    from replay.runfile.trajectory_queries import stored_trajectory

    stored = stored_trajectory(run.connection, place.row)
    assert stored is not None
    trajectory, graph = stored.record, Graph(stored.record)
    verdicts = {call.position: call.verdict for call in stored.calls}
    if document is not None:
        outcomes = {position: str(verdict.outcome) for position, verdict in verdicts.items()}
        return json.dumps({**document(trajectory, graph), "outcomes": outcomes}, ensure_ascii=True, indent=1)
    if form == "dot":
        return to_dot(trajectory, graph, verdicts)
    return (
        to_mermaid(trajectory, graph, verdicts)
        if form == "mermaid"
        else render_text(trajectory, graph, verdicts=verdicts)
    )


def _list(run: Run, places: list[TrajectoryPlace], *, as_json: bool) -> None:
    from replay.records import Outcome
    from replay.reports.json_ import SHOW_FORMAT, SHOW_VERSION
    from replay.runfile.summary import outcomes_by_trajectory
    from replay.runfile.task_runs import session_facts
    from replay.runfile.trajectory_queries import Addresses
    from replay.safety.text import one_line

    counts, facts = outcomes_by_trajectory(run.connection), session_facts(run.connection)
    addresses = Addresses(places)
    names = [one_line(addresses.trajectory(place.file, place.trajectory), 60) for place in places]
    width = max(map(len, names), default=0)
    rows: list[dict[str, Any]] = []
    for place, name in zip(places, names, strict=True):
        found = {outcome: counts.get(place.row, {}).get(outcome, 0) for outcome in Outcome}
        took = facts[place.row]._asdict() if place.row in facts else {}
        rows.append(
            {"id": place.trajectory, "model": place.model, "outcomes": {str(k): n for k, n in found.items()}, **took}
        )
        words = ", ".join(f"{number} {outcome.label}" for outcome, number in found.items() if number)
        if not as_json:
            shown = f"{name:{width}}  {one_line(place.model, 40)}  {words or 'not judged yet'}"
            click.echo("; ".join([shown, *_took(facts.get(place.row))]))
    if as_json:
        document = {"format": SHOW_FORMAT, "version": SHOW_VERSION, "trajectories": rows}
        click.echo(json.dumps(document, ensure_ascii=True, indent=1))


def _took(facts: SessionFacts | None) -> Iterator[str]:
    """When a session began, how long it took, its tokens, and how many of its failures it got over."""
    if facts is None:
        return
    if facts.recovered:
        yield f"{facts.recovered} of the failures recovered"
    if facts.started_at:
        yield facts.started_at.replace("T", " ")[:16]
    if facts.seconds is not None:
        yield f"{facts.seconds / 60:.0f} min" if facts.seconds >= 90 else f"{facts.seconds:.0f} s"
    if facts.tokens:
        yield f"{facts.tokens:,} tokens"
