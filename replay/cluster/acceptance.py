"""Which schedulers and workers may be used: those that run what the command runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

PACKAGE: Final = "mcp-replay"
_MUST_EQUAL: Final = ("distributed", PACKAGE, "cloudpickle")
"""Dask's first: one of old tells nothing of packages that it does not know."""


class Worker(NamedTuple):
    """A worker as the scheduler describes it."""

    address: str
    name: str
    threads: int


def workers_of(identity: Mapping[str, Any], status: str = "running") -> dict[str, Worker]:
    """The workers that a scheduler knows, by address.

    Args:
        identity: what the scheduler says of itself.
        status: those that are in it; Dask calls `paused` one whose memory is full.
    """
    return {
        address: Worker(address, str(found.get("name", address)), int(found.get("nthreads", 1)))
        for address, found in identity.get("workers", {}).items()
        if found.get("status", "running") == status
    }


def refusal(other: Mapping[str, Any] | None, command: Mapping[str, Any]) -> str | None:
    """Why a scheduler or a worker may not be used; None where it may.

    Args:
        other: its versions, as Dask's `versions` gives them; None where it did not tell.
        command: those of the command.
    """
    if other is None:
        return "does not say what it runs"
    theirs, ours = other.get("packages", {}), command.get("packages", {})
    for package in _MUST_EQUAL:
        if theirs.get(package) == ours.get(package):
            continue
        if theirs.get(package) is None:
            return f"has not {package} {ours.get(package)}: install it there"
        return f"has {package} {theirs[package]}, and the command {ours.get(package) or 'none'}"
    if _minor(other) != _minor(command):
        return f"runs Python {_minor(other)}, and the command {_minor(command)}"
    return None


def _minor(versions: Mapping[str, Any]) -> str:
    return ".".join(str(versions.get("host", {}).get("python", "")).split(".")[:2])
