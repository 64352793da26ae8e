"""From verdicts to findings in words: what is wrong with a call, a trajectory or a run, and what would be right."""

from replay.diagnosis.diagnose import Diagnosed, Diagnosis, diagnose, diagnoses
from replay.diagnosis.findings import findings_of_call
from replay.diagnosis.flags import explains
from replay.diagnosis.run import findings_of_run
from replay.diagnosis.trajectory import findings_of_trajectory
from replay.diagnosis.trajectory_context import TrajectoryContext

__all__ = [
    "Diagnosed",
    "Diagnosis",
    "TrajectoryContext",
    "diagnose",
    "diagnoses",
    "explains",
    "findings_of_call",
    "findings_of_run",
    "findings_of_trajectory",
]
