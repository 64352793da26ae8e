"""Walks a trajectory's DAG through the interpreter, and yields verdicts."""

from replay.replayer.keys import answer_key
from replay.replayer.recorded_servers import servers_named, with_fleet_names
from replay.replayer.source import Notebook, Question, Settled, Stage, Theatre
from replay.replayer.stages import LiveTheatre, StoredTheatre
from replay.replayer.trials import merge_trials
from replay.replayer.verdicts import FAILURES
from replay.replayer.walk import Walk

__all__ = [
    "FAILURES",
    "LiveTheatre",
    "Notebook",
    "Question",
    "Settled",
    "Stage",
    "StoredTheatre",
    "Theatre",
    "Walk",
    "answer_key",
    "merge_trials",
    "servers_named",
    "with_fleet_names",
]
