"""Replays a trajectory call by call, against live servers or stored answers, and gives the verdicts."""

from replay.replayer.backend import AnswerBackend, BackendSession, ToolRequest
from replay.replayer.checkpoint import Checkpoint
from replay.replayer.expected_keys import expected_keys
from replay.replayer.input_calls import InputCalls
from replay.replayer.keys import answer_key
from replay.replayer.live_backend import LiveBackend
from replay.replayer.recorded_servers import servers_named, with_fleet_dispatchers, with_fleet_names
from replay.replayer.stored_backend import StoredBackend
from replay.replayer.trajectory_replayer import TrajectoryReplayer
from replay.replayer.trials import ReplayContext, ReplayManner, merge_trials, replay_trials

__all__ = [
    "AnswerBackend",
    "BackendSession",
    "Checkpoint",
    "InputCalls",
    "LiveBackend",
    "ReplayContext",
    "ReplayManner",
    "StoredBackend",
    "ToolRequest",
    "TrajectoryReplayer",
    "answer_key",
    "expected_keys",
    "merge_trials",
    "replay_trials",
    "servers_named",
    "with_fleet_dispatchers",
    "with_fleet_names",
]
