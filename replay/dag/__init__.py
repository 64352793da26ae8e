"""The DAG of a trajectory: data edges, the graph over them, rebinding, and its drawings."""

from __future__ import annotations

from replay.dag.graph import Graph, infer_edges
from replay.dag.rebinding import rebind
from replay.dag.render import render_text, summary_of, to_dot, to_mermaid

__all__ = ["Graph", "infer_edges", "rebind", "render_text", "summary_of", "to_dot", "to_mermaid"]
