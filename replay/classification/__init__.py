"""From results files to a run: what `replay classify` does, for the command line and for callers from Python."""

from replay.classification.classify import classify_live, classify_stored
from replay.classification.one_process import ReplayAll, give_up
from replay.classification.options import Options, Progress
from replay.classification.policy import facts_of, policy_of, registry_of
from replay.classification.to_do import servers_to_start, unfinished

__all__ = [
    "Options",
    "Progress",
    "ReplayAll",
    "classify_live",
    "classify_stored",
    "facts_of",
    "give_up",
    "policy_of",
    "registry_of",
    "servers_to_start",
    "unfinished",
]
