"""Names of trajectory files and of their journals."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PARTIAL_SUFFIX: Final = ".partial"
_SUFFIXES: Final = (".trajectory.json", ".json")


def stem_of(path: Path) -> str:
    """The file's name without what makes it a trajectory file."""
    suffix = _suffix_of(path)
    return path.name[: -len(suffix)] if suffix else path.name


def numbered(path: Path, number: int) -> Path:
    """`run.trajectory.json`, `run-2.trajectory.json`, ..."""
    if number == 1:
        return path
    return path.with_name(f"{stem_of(path)}-{number}{_suffix_of(path)}")


def free_name(path: Path) -> Path:
    """The first of the numbered names that is not taken."""
    return next(name for number in range(1, 1_000_000) if not (name := numbered(path, number)).exists())


def partial_of(path: Path) -> Path:
    """The journal of a trajectory file while it is being recorded."""
    return path.with_name(path.name + PARTIAL_SUFFIX)


def target_of(partial: Path) -> Path:
    """The trajectory file of a journal."""
    name = partial.name.removesuffix(PARTIAL_SUFFIX)
    return partial.with_name(name if name != partial.name else f"{name}.trajectory.json")


def _suffix_of(path: Path) -> str:
    known = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix) and path.name != suffix), None)
    return path.suffix if known is None else known
