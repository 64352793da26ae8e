"""What things are: frozen records. Imports nothing of ours."""

from replay.json_values import canonical, digest
from replay.records.answer import Answer, RpcError, TextAnswer, ToolResult, TransportFault, blocks_of, texts_of
from replay.records.base import JsonObject, Record
from replay.records.server import FleetFacts, Server, ServerFacts, Tool, digest_of
from replay.records.trajectory import (
    Call,
    CallResult,
    DataEdge,
    ParentCall,
    ReportedResult,
    Source,
    Step,
    Task,
    Trajectory,
    Usage,
    qualified_name,
)
from replay.records.verdict import (
    ENVIRONMENT_REASONS,
    ERRORS_OF_TOOLS,
    FAILURES,
    UNFOUNDED,
    Certainty,
    Divergence,
    Drift,
    EnvelopeKind,
    EnvelopeLayer,
    Evidence,
    Fault,
    Judgement,
    Outcome,
    Reason,
    Rebinding,
    RuleSpec,
    SchemaViolation,
    Verdict,
    fault_of,
    faults_of,
)
