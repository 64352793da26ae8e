"""`replay show`: a trajectory as text or as a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replay.cli.input_files import InputFiles
from replay.cli.options import json_option, names_option, run_option
from replay.cli.output import print_json
from replay.cli.terminal import without_secrets
from replay.dag import Graph, render_text, summary_of, to_dot, to_mermaid
from replay.errors import UsageError
from replay.formats.results_file import ResultsFile
from replay.records import Outcome, Trajectory, Verdict
from replay.records.files import TrajectoryFile, dump
from replay.runfile import Run
from replay.runfile.task_runs import SessionFacts, outcomes_by_trajectory, session_facts
from replay.runfile.trajectory_queries import (
    Addresses,
    TrajectoryPlace,
    find_trajectory,
    stored_trajectory,
    trajectory_places,
)
from replay.safety.text import one_line
from replay.suggestions import nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterator


EXAMPLES = """\b
Examples:
  replay show results/gpt-5_test_mcp_fuzzy.json
  replay show results/gpt-5_test_mcp_fuzzy.json 00060000
  replay show --run replay-run.db 00060000
  replay show sessions/ 2b1c
  replay show dags/00060000.trajectory.json --dot | dot -Tsvg > dag.svg
"""


@click.command("show", epilog=EXAMPLES)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.argument("identifier", metavar="[ID]", required=False)
@run_option("Show of this run, with the outcomes.", None)
@click.option("--dot", "form", flag_value="dot", help="Print the graph for Graphviz.")
@click.option("--mermaid", "form", flag_value="mermaid", help="Print the graph as a Mermaid flowchart.")
@json_option
@names_option
def show(
    file: Path | None, identifier: str | None, run_path: Path | None, form: str | None, as_json: bool, names: str | None
) -> None:
    """Print a trajectory: its steps, calls and data edges.

    FILE is a results file, a folder, an archive, a glob pattern or - for stdin. Without ID, several trajectories are
    listed. Multi-hop: two or more steps and a data edge across them; multi-threaded: two calls in a step with no edge
    between them. An edge marked (likely) rests on a name or a number that could also stand there by chance. With --run
    no FILE is named: replay show --run replay-run.db ID.
    """
    if form and as_json:
        raise UsageError(f"--{form} and --json do not go together")
    if run_path is not None:
        if identifier is not None or names:
            raise UsageError(f"--run takes the place of FILE; say: replay show --run {run_path} {identifier or 'ID'}")
        _show_of_run(run_path, str(file) if file is not None else None, form, as_json)
        return
    if file is None:
        raise UsageError("name a FILE, or a run with --run")
    results = InputFiles((file,), names).open_all(need_calls=False)
    found = sum(len(one.ids) for one in results)
    if identifier is None and found > 1:
        if form:
            raise UsageError(f"{file} holds {found} trajectories; say which: replay show {file} ID --{form}")
        _list(results, as_json)
        return
    trajectory = _pick(results, identifier)
    _print(trajectory, form, as_json, subagents=_subagents(results, trajectory))


def _subagents(results: list[ResultsFile], trajectory: Trajectory) -> dict[str | None, list[str]]:
    """Ids of the trajectories that a trajectory's calls started, by the position of the call."""
    started: dict[str | None, list[str]] = {}
    alone = sum(len(one.ids) for one in results) == 1
    for other in () if alone else (one for file in results for one in file.trajectories()):
        if other.parent is not None and other.parent.trajectory == trajectory.id:
            started.setdefault(other.parent.call, []).append(other.id)
    return started


def _print(
    trajectory: Trajectory,
    form: str | None,
    as_json: bool,
    *,
    subagents: dict[str | None, list[str]] | None = None,
    verdicts: dict[str, Verdict] | None = None,
) -> None:
    """One trajectory as text, as a graph or as JSON; of a run with what was found of its calls."""
    graph = Graph(trajectory)
    if as_json:
        document = {
            "shape": _shape(graph),
            "trajectory": dump(TrajectoryFile(**{**dict(trajectory), "edges": graph.edges})),
        }
        if verdicts is not None:
            document["outcomes"] = {position: str(verdict.outcome) for position, verdict in verdicts.items()}
        _print_document(document)
    elif form == "dot":
        click.echo(without_secrets(to_dot(graph, verdicts)))
    elif form == "mermaid":
        click.echo(without_secrets(to_mermaid(graph, verdicts)))
    else:
        click.echo(without_secrets(render_text(graph, subagents, verdicts)))


def _shape(graph: Graph) -> dict[str, Any]:
    return {
        "calls": sum(map(len, graph.steps)),
        "steps": graph.depth,
        "edges": len(graph.edges),
        "multi_hop": graph.is_multi_hop,
        "multi_threaded": graph.is_multi_threaded,
        "depth": graph.depth,
        "width": graph.width,
        "longest_chain": graph.longest_chain,
    }


def _list(results: list[ResultsFile], as_json: bool) -> None:
    width = min(max(len(identifier) for one in results for identifier in one.ids), 40)
    rows = []
    for file in results:
        if len(results) > 1 and not as_json:
            click.echo(f"{one_line(file.path)}:")
        for trajectory in file.trajectories():
            graph = Graph(trajectory)
            if as_json:
                rows.append({"id": trajectory.id, "model": trajectory.model, **_shape(graph)})
            else:
                click.echo(without_secrets(f"{one_line(trajectory.id):{width}}  {summary_of(graph)}"))
    if as_json:
        _print_document({"trajectories": rows})


def _print_document(document: dict[str, Any]) -> None:
    from replay.reports.json_ import SHOW_FORMAT, SHOW_VERSION

    print_json({"format": SHOW_FORMAT, "version": SHOW_VERSION, **document})


def _pick(results: list[ResultsFile], identifier: str | None) -> Trajectory:
    known = [name for one in results for name in one.ids]
    wanted = known[0] if identifier is None else identifier
    holding = [one for one in results if wanted in one.ids]
    if not holding:
        place, nearest = results[0].path if len(results) == 1 else "these files", nearest_names(wanted, known)
        raise UsageError(f"{place}: no trajectory {wanted!r}; nearest: {', '.join(nearest)}")
    if len(holding) > 1:
        places = ", ".join(one.path for one in holding[:3])
        raise UsageError(f"{len(holding)} files hold a trajectory {wanted!r} ({places}, ...); name one of them")
    return next(trajectory for trajectory in holding[0].trajectories() if trajectory.id == wanted)


def _show_of_run(path: Path, identifier: str | None, form: str | None, as_json: bool) -> None:
    """Print a trajectory of a run, or list them where no id is given and there are several."""
    with Run.read(path) as run:
        places = trajectory_places(run)
        if identifier is None and len(places) != 1:
            if form:
                which = f"say which: replay show --run {path} ID --{form}"
                raise UsageError(f"{path} holds {len(places)} trajectories; {which}")
            _list_run(run, places, as_json=as_json)
            return
        place = places[0] if identifier is None else find_trajectory(run, identifier)
        stored = stored_trajectory(run.connection, place.row)
        assert stored is not None
        _print(stored.record, form, as_json, verdicts={call.position: call.verdict for call in stored.calls})


def _list_run(run: Run, places: list[TrajectoryPlace], *, as_json: bool) -> None:
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
        _print_document({"trajectories": rows})


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
