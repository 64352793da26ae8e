"""Many models compared: from a run's tables to a `ModelComparison`."""

from replay.models.compare import Settings, compare_models
from replay.models.measures import MEASURES

__all__ = ["MEASURES", "Settings", "compare_models"]
