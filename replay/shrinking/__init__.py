"""The smallest reproduction of a failure: fewer calls, shorter arguments, only the servers that it needs."""

from replay.shrinking.reduce import Reduction
from replay.shrinking.repro import Repro, confirm, write_repro, write_test
from replay.shrinking.shrink import Shrunk, shrink

__all__ = ["Reduction", "Repro", "Shrunk", "confirm", "shrink", "write_repro", "write_test"]
