"""Walks a trajectory's DAG through the interpreter, and yields verdicts.

Names are imported when they are used: who reads a run needs what a `Settled` is, and not the interpreter.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
_HOMES = {
    "keys": ("answer_key",),
    "recorded_servers": ("servers_named", "with_fleet_names"),
    "source": ("Notebook", "Question", "Settled", "Stage", "Theatre"),
    "stages": ("LiveTheatre", "StoredTheatre"),
    "trials": ("merge_trials",),
    "verdicts": ("FAILURES",),
    "walk": ("Walk",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
