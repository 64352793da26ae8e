"""Many models compared: from a run's tables to a `ModelComparison`."""

from replay.models.compare import Settings, compare_models, sorted_models
from replay.models.measures import MEASURES
from replay.models.strata import strata_names

__all__ = ["MEASURES", "Settings", "compare_models", "sorted_models", "strata_names"]
