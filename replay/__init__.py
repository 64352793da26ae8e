"""Replays and diagnoses the tool-call trajectories of MCP agents.

What stands in `__all__` is the interface for Python (docs/python.md); each name is loaded when it is used, so that
`import replay` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.api import JudgedTrajectory, Run, align, audit, classify, compare, open_run, report
    from replay.errors import ReplayError
    from replay.records import Answer, Call, Outcome, Reason, Trajectory
    from replay.records.files import CallRow

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Call",
    "CallRow",
    "JudgedTrajectory",
    "Outcome",
    "Reason",
    "ReplayError",
    "Run",
    "Trajectory",
    "align",
    "audit",
    "classify",
    "compare",
    "open_run",
    "report",
]

_ELSEWHERE = {
    "Answer": "replay.records",
    "Call": "replay.records",
    "CallRow": "replay.records.files",
    "Outcome": "replay.records",
    "Reason": "replay.records",
    "ReplayError": "replay.errors",
    "Trajectory": "replay.records",
}
"""Names that are not of `replay.api`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'replay' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "replay.api")), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
