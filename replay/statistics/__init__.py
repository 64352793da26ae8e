"""Statistics over tasks: shares with Wilson's interval, ratios resampled over tasks, paired differences, odds ratios.

Only `scipy.special` is imported: `scipy.stats` takes longer to import than all of this takes to compute. The tests hold
the results against `scipy.stats`.
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
