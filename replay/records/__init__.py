"""What things are: frozen records. Imports nothing of ours."""

from replay.records.answer import Answer, RpcError, TextAnswer, ToolResult, TransportFault, blocks_of, texts_of
from replay.records.base import JsonObject, Record
from replay.records.fleet import FleetFacts, ServerFacts
from replay.records.rule import RuleSpec
from replay.records.server import Server, Tool, digest_of
from replay.records.trajectory import Call, DataEdge, Source, Step, Task, Trajectory, Usage
from replay.records.verdict import (
    Certainty,
    Divergence,
    Drift,
    Evidence,
    Judgement,
    Outcome,
    Reason,
    Rebinding,
    SchemaViolation,
    Verdict,
)

__all__ = [
    "Answer",
    "Call",
    "Certainty",
    "DataEdge",
    "Divergence",
    "Drift",
    "Evidence",
    "FleetFacts",
    "JsonObject",
    "Judgement",
    "Outcome",
    "Reason",
    "Rebinding",
    "Record",
    "RpcError",
    "RuleSpec",
    "SchemaViolation",
    "Server",
    "ServerFacts",
    "Source",
    "Step",
    "Task",
    "TextAnswer",
    "Tool",
    "ToolResult",
    "Trajectory",
    "TransportFault",
    "Usage",
    "Verdict",
    "blocks_of",
    "digest_of",
    "texts_of",
]
