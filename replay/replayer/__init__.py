"""Replays a trajectory call by call, against live servers or stored answers, and gives the verdicts."""

from replay.replayer.backends import LiveBackend, StoredBackend
from replay.replayer.journal import InputCalls
from replay.replayer.plan import ReplayContext
from replay.replayer.recorded_names import servers_named, with_fleet_dispatchers, with_fleet_names
from replay.replayer.trajectory import TrajectoryReplayer, merge_trials

__all__ = [
    "InputCalls",
    "LiveBackend",
    "ReplayContext",
    "StoredBackend",
    "TrajectoryReplayer",
    "merge_trials",
    "servers_named",
    "with_fleet_dispatchers",
    "with_fleet_names",
]
