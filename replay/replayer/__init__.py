"""Walks a trajectory's DAG through the interpreter, and yields verdicts.

Names are imported when they are used: who reads a run needs what a `CallResult` is, and not the interpreter.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.replayer.backend import AnswerBackend, BackendSession, Checkpoint, ToolRequest
    from replay.replayer.backends import LiveBackend, StoredBackend
    from replay.replayer.keys import answer_key
    from replay.replayer.recorded_servers import servers_named, with_fleet_names
    from replay.replayer.trajectory_replayer import TrajectoryReplayer
    from replay.replayer.trials import merge_trials

__all__ = [
    "AnswerBackend",
    "BackendSession",
    "Checkpoint",
    "LiveBackend",
    "StoredBackend",
    "ToolRequest",
    "TrajectoryReplayer",
    "answer_key",
    "merge_trials",
    "servers_named",
    "with_fleet_names",
]
_HOMES = {
    "keys": ("answer_key",),
    "recorded_servers": ("servers_named", "with_fleet_names"),
    "backend": ("Checkpoint", "ToolRequest", "BackendSession", "AnswerBackend"),
    "backends": ("LiveBackend", "StoredBackend"),
    "trials": ("merge_trials",),
    "trajectory_replayer": ("TrajectoryReplayer",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
