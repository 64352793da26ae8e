"""The run file: what was replayed, kept in SQLite, resumable and open to any SQLite tool. All SQL is here."""

from replay.runfile.call_queries import call_rows, trajectory_rows
from replay.runfile.run import Run
from replay.runfile.summary import summarize, withheld_servers
from replay.runfile.trajectory_state import TrajectoryState

__all__ = ["Run", "TrajectoryState", "call_rows", "summarize", "trajectory_rows", "withheld_servers"]
