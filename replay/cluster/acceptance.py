"""Which workers may judge: those that run what the command runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

PACKAGE: Final = "mcp-replay"
_MUST_EQUAL: Final = (PACKAGE, "distributed", "cloudpickle")


class Worker(NamedTuple):
    """A worker as the scheduler describes it."""

    address: str
    name: str
    threads: int


def workers_of(identity: Mapping[str, Any]) -> dict[str, Worker]:
    """The workers that a scheduler knows, by address."""
    return {
        address: Worker(address, str(found.get("name", address)), int(found.get("nthreads", 1)))
        for address, found in identity.get("workers", {}).items()
        if found.get("status", "running") == "running"
    }


def refusal(worker: Mapping[str, Any] | None, command: Mapping[str, Any]) -> str | None:
    """Why a worker may not judge; None where it may.

    Args:
        worker: its versions, as `Client.get_versions` gives them; None where it did not tell.
        command: those of the command.
    """
    if worker is None:
        return "does not say what it runs"
    theirs, ours = worker.get("packages", {}), command.get("packages", {})
    for package in _MUST_EQUAL:
        if theirs.get(package) == ours.get(package):
            continue
        if theirs.get(package) is None:
            return f"has not {package} {ours.get(package)}: install it there"
        return f"has {package} {theirs[package]}, and the command {ours.get(package) or 'none'}"
    if _minor(worker) != _minor(command):
        return f"runs Python {_minor(worker)}, and the command {_minor(command)}"
    return None


def _minor(versions: Mapping[str, Any]) -> str:
    return ".".join(str(versions.get("host", {}).get("python", "")).split(".")[:2])
