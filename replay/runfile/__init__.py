"""The run file: what was replayed, kept in SQLite, resumable and open to any SQLite tool."""

from replay.runfile.document import call_rows, trajectory_rows
from replay.runfile.run import Run, TrajectoryState
from replay.runfile.summary import summarize, withheld_servers, within

__all__ = [
    "Run",
    "TrajectoryState",
    "call_rows",
    "summarize",
    "trajectory_rows",
    "withheld_servers",
    "within",
]
