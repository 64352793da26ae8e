"""From verdicts to findings in words: what is wrong with a call, a trajectory or a run, and what would be right."""

from replay.diagnosis.diagnose import Diagnosed, Diagnosis, diagnose, diagnoses, findings_of_call
from replay.diagnosis.run_findings import RunTally
from replay.diagnosis.trajectory_context import TrajectoryContext, explains
from replay.diagnosis.trajectory_findings import findings_of_trajectory

__all__ = [
    "Diagnosed",
    "Diagnosis",
    "RunTally",
    "TrajectoryContext",
    "diagnose",
    "diagnoses",
    "explains",
    "findings_of_call",
    "findings_of_trajectory",
]
