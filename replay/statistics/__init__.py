"""Statistics over tasks: shares with Wilson's interval, ratios resampled over tasks, paired differences, odds ratios.

Only `scipy.special` is imported, and where it is needed: it takes longer to import than most of this takes to compute,
and `scipy.stats` longer still. The tests hold the results against `scipy.stats`.
"""

from replay.statistics.odds import OddsRatio, odds_ratio
from replay.statistics.paired import PairedTest, holm, paired_test, task_values
from replay.statistics.ratios import Resampling, ratio
from replay.statistics.shares import Interval, wilson

__all__ = [
    "Interval",
    "OddsRatio",
    "PairedTest",
    "Resampling",
    "holm",
    "odds_ratio",
    "paired_test",
    "ratio",
    "task_values",
    "wilson",
]
