"""`replay show`: a trajectory as text or as a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replay.cli.options import echo_err, json_option, names_option, without_secrets
from replay.errors import UsageError

if TYPE_CHECKING:
    from replay.dag import Graph
    from replay.formats import ResultsFile
    from replay.records import Trajectory


EXAMPLES = """\b
Examples:
  replay show results/gpt-5_test_mcp_fuzzy.json
  replay show results/gpt-5_test_mcp_fuzzy.json 00060000
  replay show dags/00060000.trajectory.json --dot | dot -Tsvg > dag.svg
"""


@click.command("show", epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--dot", "form", flag_value="dot", help="Print the graph for Graphviz.")
@click.option("--mermaid", "form", flag_value="mermaid", help="Print the graph as a Mermaid flowchart.")
@json_option
@names_option
def show(file: Path, identifier: str | None, form: str | None, as_json: bool, names: str | None) -> None:
    """Print a trajectory: its steps, calls and data edges.

    Without ID, a file of several trajectories is listed. Multi-hop: two or more steps and a data edge across them;
    multi-threaded: two calls in a step with no edge between them. An edge marked (likely) rests on a name or a number
    that could also stand there by chance.
    """
    from replay.formats import FileNames, open_file

    if form and as_json:
        raise UsageError(f"--{form} and --json do not go together")
    results = open_file(file, FileNames(names))
    for warning in results.warnings:
        echo_err(f"replay: {warning}")
    if identifier is None and len(results.ids) > 1:
        if form:
            raise UsageError(f"{file} holds {len(results.ids)} trajectories; say which: replay show {file} ID --{form}")
        _list(results, as_json)
        return
    trajectory = _pick(results, identifier)
    click.echo(_render(trajectory, form, as_json, _subagents(results, trajectory)))


def _subagents(results: ResultsFile, trajectory: Trajectory) -> dict[str | None, list[str]]:
    """Ids of the trajectories that a trajectory's calls started, by the position of the call."""
    started: dict[str | None, list[str]] = {}
    for other in results.trajectories() if len(results.ids) > 1 else ():
        if other.parent is not None and other.parent.trajectory == trajectory.id:
            started.setdefault(other.parent.call, []).append(other.id)
    return started


def _render(trajectory: Trajectory, form: str | None, as_json: bool, subagents: dict[str | None, list[str]]) -> str:
    from replay.dag import Graph, render_text, to_dot, to_mermaid

    graph = Graph(trajectory)
    if as_json:
        return json.dumps(without_secrets(_as_json(trajectory, graph)), ensure_ascii=True, indent=1)
    if form == "dot":
        text = to_dot(trajectory, graph)
    else:
        text = to_mermaid(trajectory, graph) if form == "mermaid" else render_text(trajectory, graph, subagents)
    return str(without_secrets(text))


def _as_json(trajectory: Trajectory, graph: Graph) -> dict[str, Any]:
    from replay.records.files import TrajectoryFile, dump
    from replay.reports.json_documents import SHOW_FORMAT, SHOW_VERSION

    fields = {name: getattr(trajectory, name) for name in type(trajectory).model_fields}
    trajectory_file = dump(TrajectoryFile(**{**fields, "edges": graph.edges}))
    return {"format": SHOW_FORMAT, "version": SHOW_VERSION, "shape": _shape(graph), "trajectory": trajectory_file}


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


def _list(results: ResultsFile, as_json: bool) -> None:
    from replay.dag import Graph, summary_of
    from replay.text import one_line

    width = min(max(map(len, results.ids)), 40)
    rows = []
    for trajectory in results.trajectories():
        graph = Graph(trajectory)
        if as_json:
            rows.append({"id": trajectory.id, "model": trajectory.model, **_shape(graph)})
        else:
            click.echo(without_secrets(f"{one_line(trajectory.id):{width}}  {summary_of(graph)}"))
    if as_json:
        from replay.reports.json_documents import SHOW_FORMAT, SHOW_VERSION

        document = {"format": SHOW_FORMAT, "version": SHOW_VERSION, "trajectories": rows}
        click.echo(json.dumps(without_secrets(document), ensure_ascii=True, indent=1))


def _pick(results: ResultsFile, identifier: str | None) -> Trajectory:
    wanted = results.ids[0] if identifier is None else identifier
    if wanted not in results.ids:
        from replay.suggestions import nearest_names

        nearest = nearest_names(wanted, results.ids)
        raise UsageError(f"{results.path}: no trajectory {wanted!r}; nearest: {', '.join(nearest)}")
    return next(trajectory for trajectory in results.trajectories() if trajectory.id == wanted)
