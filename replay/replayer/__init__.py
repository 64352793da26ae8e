"""Replays a trajectory call by call, against live servers or stored answers, and gives the verdicts."""

from replay.replayer.backends import (
    AnswerBackend,
    BackendSession,
    LiveBackend,
    StoredBackend,
    ToolRequest,
    answer_key,
)
from replay.replayer.journal import Checkpoint, InputCalls
from replay.replayer.plan import ReplayContext
from replay.replayer.recorded_names import servers_named, with_fleet_dispatchers, with_fleet_names
from replay.replayer.trajectory import TrajectoryReplayer, merge_trials, replay_trials

__all__ = [
    "AnswerBackend",
    "BackendSession",
    "Checkpoint",
    "InputCalls",
    "LiveBackend",
    "ReplayContext",
    "StoredBackend",
    "ToolRequest",
    "TrajectoryReplayer",
    "answer_key",
    "merge_trials",
    "replay_trials",
    "servers_named",
    "with_fleet_dispatchers",
    "with_fleet_names",
]
