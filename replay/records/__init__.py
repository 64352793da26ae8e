"""What things are: frozen records. Imports nothing of ours."""

from replay.json_values import canonical, digest
from replay.records.base import JsonObject, Record
from replay.records.server import FleetFacts, Server, ServerFacts, Tool, digest_of
from replay.records.trajectory import (
    Answer,
    Call,
    CallResult,
    DataEdge,
    ParentCall,
    ReportedResult,
    RpcError,
    Source,
    Step,
    Task,
    TextAnswer,
    ToolResult,
    Trajectory,
    TransportFault,
    Usage,
    blocks_of,
    qualified_name,
    texts_of,
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
