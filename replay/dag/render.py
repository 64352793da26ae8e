"""A trajectory drawn: as text, as Graphviz dot, as Mermaid. What servers and models wrote is escaped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from replay.dag.graph import Graph
from replay.records import Answer, Call, DataEdge, Outcome, RpcError, ToolResult, TransportFault, Verdict, texts_of
from replay.safety.text import cut, one_line

_MAX_LINE_LENGTH: Final = 110
_MAX_LABEL_LENGTH: Final = 40
_MAX_EDGES: Final = 6
"""Edges shown for one pair of calls."""


def render_text(
    graph: Graph,
    subagents: Mapping[str | None, Sequence[str]] | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
) -> str:
    """Steps, calls and the data edges into each call, for reading.

    Args:
        graph: of the trajectory that is drawn.
        subagents: ids of the trajectories that its calls started, by the position of the call.
        verdicts: what a run found of its calls, by position.
    """
    trajectory, started = graph.trajectory, subagents or {}
    lines = [f"{one_line(trajectory.id)}  model {one_line(trajectory.model)}", summary_of(graph)]
    if trajectory.parent is not None:
        lines.append(f"sub-agent of {one_line(trajectory.parent.trajectory)} {trajectory.parent.call or ''}".rstrip())
    lines += [f"started the sub-agent {one_line(identifier)}" for identifier in started.get(None, ())]
    if trajectory.task.question:
        lines.append(f"asked: {one_line(trajectory.task.question, _MAX_LINE_LENGTH)}")
    for number, step in enumerate(trajectory.steps, 1):
        lines += ["", f"step {number}" + (f": {one_line(step.text, _MAX_LINE_LENGTH)}" if step.text else "")]
        for call in step.calls:
            lines.append(f"  {call.position}  {_name(call)} {_arguments(call)}")
            if verdicts is not None:
                lines.append(f"        {_verdict(verdicts.get(call.position))}")
            if call.answer is not None:
                lines.append(f"        = {_answer(call.answer)}")
            lines += [f"        sub-agent {one_line(identifier)}" for identifier in started.get(call.position, ())]
            lines += [f"        <- {line}" for line in _edge_lines(graph.into(call.position))]
    return "\n".join(lines)


def summary_of(graph: Graph) -> str:
    """Its shape in a line."""
    calls = sum(map(len, graph.steps))
    kinds = [
        "multi-hop" if graph.is_multi_hop else "single-hop",
        "multi-threaded" if graph.is_multi_threaded else "single-threaded",
    ]
    return (
        f"{_count(calls, 'call')} in {_count(graph.depth, 'step')}, {_count(len(graph.edges), 'data edge')}; "
        f"{', '.join(kinds)}; depth {graph.depth}, width {graph.width}, longest chain {graph.longest_chain}"
    )


def to_dot(graph: Graph, verdicts: Mapping[str, Verdict] | None = None) -> str:
    """The graph for Graphviz: a rank a step, an arrow a pair of calls, a letter an outcome where verdicts are given."""
    trajectory = graph.trajectory
    lines = [f"digraph {_dot(trajectory.id)} {{", "  rankdir=TB; newrank=true; node [shape=box, fontname=sans];"]
    for number, step in enumerate(trajectory.steps, 1):
        lines.append(f"  subgraph cluster_{number} {{ label={_dot(f'step {number}')}; style=dotted; rank=same;")
        lines += [f"    {_dot(call.position)} [label={_dot(_label(call, verdicts))}];" for call in step.calls]
        lines.append("  }")
    firsts = [_dot(step.calls[0].position) for step in trajectory.steps if step.calls]
    lines += [f"  {before} -> {after} [style=invis];" for before, after in pairwise(firsts)]
    for (producer, consumer), (label, likely) in _arrows(graph).items():
        style = ", style=dashed" if likely else ""
        lines.append(f"  {_dot(producer)} -> {_dot(consumer)} [label={_dot(label)}{style}];")
    return "\n".join([*lines, "}"])


def to_mermaid(graph: Graph, verdicts: Mapping[str, Verdict] | None = None) -> str:
    """The graph as a Mermaid flowchart, with a letter an outcome where verdicts are given."""
    trajectory = graph.trajectory
    ids = {call.position: f"n{number}" for number, call in enumerate(trajectory.calls(), 1)}
    lines = ["flowchart TD"]
    for number, step in enumerate(trajectory.steps, 1):
        lines.append(f'  subgraph step{number}["step {number}"]')
        lines += [f'    {ids[call.position]}["{_mermaid(_label(call, verdicts))}"]' for call in step.calls]
        lines.append("  end")
    for (producer, consumer), (label, likely) in _arrows(graph).items():
        arrow = "-.->" if likely else "-->"
        lines.append(f'  {ids[producer]} {arrow}|"{_mermaid(label)}"| {ids[consumer]}')
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _name(call: Call) -> str:
    return one_line(call.name, _MAX_LINE_LENGTH) if call.name is not None else "(no name)"


def _arguments(call: Call) -> str:
    if call.arguments is None:
        return f"(unreadable: {one_line(call.raw or 'absent', _MAX_LINE_LENGTH)})"
    return one_line(json.dumps(call.arguments, ensure_ascii=False), _MAX_LINE_LENGTH)


def _answer(answer: Answer) -> str:
    if isinstance(answer, RpcError):
        return f"error {answer.code}: {one_line(answer.message, _MAX_LINE_LENGTH)}"
    if isinstance(answer, TransportFault):
        return f"no answer ({answer.fault}): {one_line(answer.message, _MAX_LINE_LENGTH)}"
    text = one_line(" ".join(cut(part, 4 * _MAX_LINE_LENGTH) for part in texts_of(answer)[:4]), _MAX_LINE_LENGTH)
    mark = "isError: " if isinstance(answer, ToolResult) and answer.is_error else ""
    return f"{mark}{text}" if text else f"{mark}(no text)"


def _edge_lines(edges: tuple[DataEdge, ...]) -> list[str]:
    shown: Counter[str] = Counter()
    lines = []
    for edge in edges:
        shown[edge.producer] += 1
        if shown[edge.producer] <= _MAX_EDGES:
            sure = "" if edge.certainty == "certain" else "  (likely)"
            where = f"{edge.producer_place} {one_line(edge.producer_pointer, _MAX_LABEL_LENGTH)}"
            value = one_line(json.dumps(edge.value, ensure_ascii=False), _MAX_LABEL_LENGTH)
            lines.append(
                f"{edge.producer} {where} -> {one_line(edge.consumer_pointer, _MAX_LABEL_LENGTH)}: {value}{sure}"
            )
    more = ((producer, count - _MAX_EDGES) for producer, count in shown.items() if count > _MAX_EDGES)
    return lines + [f"{producer} and {count} more values" for producer, count in more]


def _label(call: Call, verdicts: Mapping[str, Verdict] | None) -> str:
    verdict = verdicts.get(call.position) if verdicts is not None else None
    letter = f"{verdict.outcome.letter} " if verdict is not None else ""
    return f"{letter}{call.position} {cut(_name(call), _MAX_LABEL_LENGTH)}"


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return "· not judged yet"
    reason = f" ({verdict.reason})" if verdict.reason else ""
    cause = f", after {verdict.caused_by}" if verdict.caused_by else ""
    head = f"{verdict.outcome.letter} {verdict.outcome.label}{reason}{cause}"
    told = "" if verdict.outcome is Outcome.SUCCESS else f": {one_line(verdict.message, _MAX_LINE_LENGTH)}"
    return head + told


def _arrows(graph: Graph) -> dict[tuple[str, str], tuple[str, bool]]:
    """One arrow a pair: the first value, how many more there are, and whether all are only likely."""
    pairs: dict[tuple[str, str], list[DataEdge]] = {}
    for edge in graph.edges:
        pairs.setdefault((edge.producer, edge.consumer), []).append(edge)
    return {
        pair: (
            one_line(str(edges[0].value), _MAX_LABEL_LENGTH) + (f" +{len(edges) - 1}" if len(edges) > 1 else ""),
            all(edge.certainty == "likely" for edge in edges),
        )
        for pair, edges in pairs.items()
    }


def _dot(text: str) -> str:
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mermaid(text: str) -> str:
    """Entity codes for whatever Mermaid or HTML could read as syntax."""
    return "".join(
        character if character.isalnum() or character in " _-/.,:+" else f"#{ord(character)};"
        for character in one_line(text)
    )
