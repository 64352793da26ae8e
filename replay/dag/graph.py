"""A trajectory as a graph: its calls, and the data that flowed between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from replay.dag.causes import cause_links, passes_failure_on
from replay.dag.edges import infer_edges
from replay.records import Call, DataEdge, Outcome, Trajectory

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Graph"]


class Graph:
    """The data edges of a trajectory; as a `networkx.DiGraph` of call positions in `digraph`.

    Args:
        trajectory: its own `edges` are used, or inferred where it has none.
        edges: to use instead.
    """

    def __init__(self, trajectory: Trajectory, edges: tuple[DataEdge, ...] | None = None) -> None:
        self.trajectory = trajectory
        known = trajectory.edges if edges is None else edges
        self.edges = infer_edges(trajectory) if known is None else known
        self.steps: tuple[tuple[str, ...], ...] = tuple(
            tuple(call.position for call in step.calls) for step in trajectory.steps
        )
        """The positions of each step's calls."""
        self._order = {
            position: number for number, position in enumerate(p for positions in self.steps for p in positions)
        }
        self._step_of = {position: number for number, positions in enumerate(self.steps) for position in positions}

    @cached_property
    def digraph(self) -> nx.DiGraph[str]:
        """A node a call, with its `step`; an arrow from producer to consumer, with its `edges`."""
        import networkx as nx  # a replay draws no graph, and need not wait for the library

        digraph: nx.DiGraph[str] = nx.DiGraph()
        digraph.add_nodes_from((position, {"step": number}) for position, number in self._step_of.items())
        for edge in self.edges:
            if not digraph.has_edge(edge.producer, edge.consumer):
                digraph.add_edge(edge.producer, edge.consumer, edges=[])
            digraph.edges[edge.producer, edge.consumer]["edges"].append(edge)
        return digraph

    def into(self, position: str) -> tuple[DataEdge, ...]:
        """The edges that a call's arguments depend on."""
        return self._into.get(position, ())

    def ancestors(self, position: str) -> tuple[str, ...]:
        """The calls that a call depends on, near or far, in order."""
        if position not in self._into:
            return ()
        import networkx as nx

        return self._sorted(nx.ancestors(self.digraph, position))

    def dependents(self, position: str) -> tuple[str, ...]:
        """The calls that depend on a call, near or far, in order."""
        import networkx as nx

        return self._sorted(nx.descendants(self.digraph, position))

    @property
    def is_multi_hop(self) -> bool:
        """Two or more steps, and an edge across them."""
        return any(self._step_of[edge.producer] != self._step_of[edge.consumer] for edge in self.edges)

    @property
    def is_multi_threaded(self) -> bool:
        """Two calls in a step with no edge between them."""
        linked = {(edge.producer, edge.consumer) for edge in self.edges}
        return any(
            (first, second) not in linked and (second, first) not in linked
            for positions in self.steps
            for first, second in combinations(positions, 2)
        )

    @property
    def depth(self) -> int:
        """Number of steps."""
        return len(self.steps)

    @property
    def width(self) -> int:
        """Most calls in one step."""
        return max(map(len, self.steps), default=0)

    @property
    def longest_chain(self) -> int:
        """Most calls on a path of data edges; 0 without calls."""
        import networkx as nx

        return int(nx.dag_longest_path_length(self.digraph, weight=None, default_weight=1)) + 1 if self._order else 0

    def root_cause(self, position: str, failed: Mapping[str, Outcome]) -> str | None:
        """The earliest failed call that a failed call depends on through failed calls, or None.

        Beside the data edges this follows who was to make what a call names (`replay.dag.causes`).

        Args:
            position: of the failed call.
            failed: the outcomes of all failed calls.
        """
        seen, pending = {position}, [position]
        while pending:
            current = pending.pop()
            producers = dict.fromkeys(edge.producer for edge in self.into(current))
            for earlier in (*producers, *self._causes.get(current, ())):
                if (
                    earlier in failed
                    and earlier not in seen
                    and self._explains(earlier, current, failed.get(current, Outcome.NOT_FOUND))
                ):
                    seen.add(earlier)
                    pending.append(earlier)
        return min(seen - {position}, key=self._order.__getitem__, default=None)

    def _explains(self, earlier: str, current: str, outcome: Outcome) -> bool:
        edges = (edge for edge in self.into(current) if edge.producer == earlier)
        return passes_failure_on(self._calls[earlier], outcome, edges)

    @cached_property
    def _calls(self) -> dict[str, Call]:
        return {call.position: call for call in self.trajectory.calls()}

    @cached_property
    def _into(self) -> dict[str, tuple[DataEdge, ...]]:
        grouped: dict[str, list[DataEdge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.consumer, []).append(edge)
        return {position: tuple(edges) for position, edges in grouped.items()}

    @cached_property
    def _causes(self) -> dict[str, tuple[str, ...]]:
        return cause_links(self.trajectory)

    def _sorted(self, positions: set[str]) -> tuple[str, ...]:
        return tuple(sorted(positions, key=self._order.__getitem__))
