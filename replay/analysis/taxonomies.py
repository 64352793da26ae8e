"""Published taxonomies of failures as groupings of findings: what shows each class, and what is left to a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from replay.analysis.task_runs import TaskRuns
from replay.records.comparison import ErrorClassOfModels, Taxonomy
from replay.runfile import Run
from replay.runfile.task_runs import findings_by_trajectory

TOBENCH: Final = "tobench"
_REFERENCE_KINDS: Final = frozenset({"reference-tool-unused", "wrong-tool-of-server"})
"""Found only where the run was aligned with a reference."""


class ErrorClass(NamedTuple):
    """One subcategory of a taxonomy."""

    category: str
    name: str
    kinds: tuple[str, ...] = ()
    """The kinds of finding that show it; none where it cannot be seen here."""
    left_to_judges: str = ""
    """What of it nobody can tell without a judge; empty where nothing is left."""


def _tobench() -> Iterable[ErrorClass]:
    """TOBench (arXiv 2605.16909), appendix D, table 4, by its own names and in its order."""
    call, parameter, verification = "Tool Call Error", "Tool Parameter Error", "Self-Verification Failure"
    yield ErrorClass(
        *(call, "Wrong Tool Selection", ("tool-of-another-server", "wrong-tool-of-server")),
        "whether another tool would have been better",
    )
    yield ErrorClass(
        call, "Missing Essential Tool", ("reference-tool-unused",), "all of it where there is no reference"
    )
    yield ErrorClass(
        call, "Tool Planning Error", ("repeated-failure", "repeated-call"), "whether a plan was needlessly long"
    )
    unknown = ("no-such-tool", "nearly-a-tool", "tool-without-server", "placeholder-tool")
    yield ErrorClass(call, "Hallucinated Tool", unknown)
    yield ErrorClass(parameter, "Parameter Type Error", ("wrong-type", "malformed-value"))
    yield ErrorClass(
        parameter, "Parameter Range Error", ("out-of-bounds",), "bounds that neither a schema nor an answer tells"
    )
    wrong_object = ("missing-thing", "missing-address", "not-found", "placeholder-argument")
    invented = ("invented-value", "invented-identifier")
    yield ErrorClass(
        parameter, "Parameter Object Selection Error", (*wrong_object, *invented), "a wrong object that is there"
    )
    yield ErrorClass(parameter, "Missing Parameter", ("missing-field", "no-arguments"))
    yield ErrorClass(parameter, "Hallucinated Parameter", ("unexpected-field", "misnamed-field", "not-a-choice"))
    for name in (
        *("Fine-grained Perception", "Visual-Spatial Understanding", "Video Temporal Relationship Understanding"),
        *("Cross-modal Information Fusion", "Multimodal Hallucination"),
    ):
        yield ErrorClass("Multimodal Capability Deficit", name, (), "all of it")
    yield ErrorClass(verification, "No Verification", ("written-not-checked",), "what programs wrote")
    yield ErrorClass(
        *(verification, "Pseudo-Verification", ("pseudo-verification",)),
        "whether what was looked at could have shown the fault",
    )
    yield ErrorClass(
        verification, "Incomplete Verification", ("incomplete-verification",), "whether all that matters was looked at"
    )
    other = "Non-Agent Error"
    yield ErrorClass(other, "False Positive on Error Trajectory")  # the word alone makes no failure here
    outage = ("server-did-not-start", "timed-out", "rate-limited", "unauthorized", "network", "server-fault")
    yield ErrorClass(other, "MCP Issue", outage)
    yield ErrorClass(other, "Agent Base Model Issue", (), "why a trajectory breaks off")


TAXONOMIES: Final[Mapping[str, tuple[ErrorClass, ...]]] = {TOBENCH: tuple(_tobench())}
"""By what `--by` calls them."""


def taxonomy_of(run: Run, table: TaskRuns, models: Iterable[str], name: str, *, aligned: bool) -> Taxonomy:
    """How many task runs of each model show each class of a taxonomy.

    Args:
        run: that they were read from; its findings are in the table `findings`.
        table: its task runs.
        models: in the order of the columns.
        name: of the taxonomy.
        aligned: the run was aligned with a reference.
    """
    showing: dict[str, set[int]] = {}
    for trajectory, kind in findings_by_trajectory(run.connection):
        if trajectory in table.run_of_trajectory:
            showing.setdefault(kind, set()).add(table.run_of_trajectory[trajectory])
    rows = []
    for error in TAXONOMIES[name]:
        known = error.kinds if aligned else [kind for kind in error.kinds if kind not in _REFERENCE_KINDS]
        runs = set[int]().union(*(showing.get(kind, ()) for kind in known))
        counts = Counter(table.runs[place].model for place in runs)
        rows.append(
            ErrorClassOfModels(
                category=error.category,
                name=error.name,
                kinds=error.kinds,
                task_runs={model: counts[model] for model in models} if known else {},
                left_to_judges=error.left_to_judges or None,
            )
        )
    return Taxonomy(name=name, classes=tuple(rows))
