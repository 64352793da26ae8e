"""Replays on several processes or machines, with Dask: the command keeps the run file, workers judge trajectories.

Nothing of Dask is imported before a `Pool` is opened.
"""

from replay.cluster.place import ClusterError, Place

__all__ = ["ClusterError", "Place"]
