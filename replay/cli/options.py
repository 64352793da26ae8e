"""Options that several verbs share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from replay.cli.terminal import echo_err
from replay.errors import FoundFailuresError, RunFileError, UsageError

if TYPE_CHECKING:
    from replay.interpreter import Fleet
    from replay.records import Outcome
    from replay.replayer.pool import WorkerLocation

F = TypeVar("F", bound=Callable[..., Any])

FILE: Final = click.Path(path_type=Path, dir_okay=False)
DEFAULT_RUN = Path("replay-run.db")
DEFAULT_FLEET = Path("servers.yaml")

fleet_option = click.option(
    "--servers",
    "fleet_path",
    type=FILE,
    help="Fleet file: our YAML, or the server JSON of an MCP client.  [default: servers.yaml, where there is one]",
)
names_option = click.option(
    "--names",
    metavar="PATTERN",
    help="How file names give model and task, e.g. '{model}_{task}.json'.",
)
files_argument = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
known_option = click.option(
    "--known",
    "known_path",
    type=FILE,
    help="What is known of failures.  [default: replay-known.yaml beside the run, here or in the repository]",
)
strict_option = click.option(
    "--strict", is_flag=True, help="Exit with 2, not 3, where something in a folder or an archive could not be read."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, a row a call.")
results_argument = click.argument("files", metavar="[RESULTS]...", nargs=-1, type=click.Path(path_type=Path))


def reference_option(help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """`--reference FILE`."""
    return click.option(
        "--reference", metavar="FILE", required=required, type=click.Path(path_type=Path), help=help_text
    )


def judge_option(help_text: str) -> Callable[[F], F]:
    """`--judge FILE`, any number of them."""
    shown = f"{help_text}JSON with completion_rate and information_grounding_rate, by model or by id. Repeatable."
    return click.option("--judge", "judge_paths", multiple=True, type=click.Path(path_type=Path), help=shown)


def allow_effects_option(help_text: str) -> Callable[[F], F]:
    """`--allow-effects SERVER`, any number of them."""
    return click.option("--allow-effects", multiple=True, metavar="SERVER", help=f"{help_text} Repeatable.")


def run_option(help_text: str, default: Path | None = DEFAULT_RUN) -> Callable[[F], F]:
    """`--run FILE`."""
    return click.option("--run", "run_path", type=FILE, default=default, show_default=True, help=help_text)


def read_run_option(function: F) -> F:
    """`--run FILE` of a verb that reads a run; one that stands alone as an argument is taken for it."""
    argument = click.argument("run_argument", metavar="[RUN]", required=False, type=FILE)
    option = run_option(f"The run file, which may also stand alone as RUN.  [default: {DEFAULT_RUN}]", None)
    return argument(option(function))


def run_to_read(run_path: Path | None, run_argument: Path | None) -> Path:
    """The run that a verb with `read_run_option` reads.

    Raises:
        UsageError: two different ones are named.
    """
    if run_path is not None and run_argument is not None and run_path != run_argument:
        raise UsageError(f"two runs are named: --run {run_path}, and {run_argument}")
    return run_path or run_argument or DEFAULT_RUN


def fleet_of(path: Path | None, without: str = "") -> Fleet | None:
    """The fleet that was named, else that of the usual file; None where there is none and one can go on so.

    Where its servers will start, that is said first, see `replay.cli.trust`.

    Args:
        path: of `--servers`.
        without: what to do where there is no fleet, for a verb that starts its servers.

    Raises:
        UsageError: there is none, and the verb needs one.
        FleetError: the file cannot be used.
    """
    from replay.interpreter import Fleet

    if path is None and not DEFAULT_FLEET.exists():
        if without:
            raise UsageError(f"no fleet file: there is no {DEFAULT_FLEET} here. {without}")
        return None
    fleet = Fleet.load(path or DEFAULT_FLEET)
    if without:
        from replay.cli.trust import say_what_starts

        say_what_starts(fleet, named=path is not None)
    return fleet


def workers_options(function: F) -> F:
    """`--workers N` and `--cluster ADDRESS`."""
    workers = click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Share the work among N processes on this machine.",
    )
    cluster = click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Share the work among the workers of a Dask scheduler, e.g. tcp://10.0.0.1:8786 (needs the extra "
        "`cluster`; see docs/cluster.md).",
    )
    return workers(cluster(function))


def worker_location(workers: int | None, cluster: str | None, threads: int = 1) -> WorkerLocation | None:
    """Where the workers are; None where this process does all.

    Args:
        workers: of `--workers`.
        cluster: of `--cluster`.
        threads: trajectories side by side in each process that is started here.

    Raises:
        UsageError: both are given.
    """
    if workers is None and cluster is None:
        return None
    if workers is not None and cluster is not None:
        raise UsageError("--workers starts processes here, --cluster uses those of a scheduler: give one of them")
    from replay.replayer.pool import WorkerLocation

    return WorkerLocation(workers, cluster, threads)


def first_moment(since: str | None) -> str:
    """Where the time of `--since` begins, in UTC; "" without one.

    Raises:
        UsageError: it is not a time.
    """
    from replay.records.time_span import Span

    try:
        return Span.read(since).first if since is not None else ""
    except ValueError as error:
        raise UsageError(f"--since: {error}") from None


FAILED: Final = "failed"
"""Stands for the four outcomes that are failures."""
NEW: Final = "new"
"""Stands for failures that `replay-known.yaml` does not have."""
_CONDITION: Final = re.compile(r"(?P<name>[^>]*?)\s*(?:>\s*(?P<share>\d+(?:\.\d+)?)\s*%)?")


class FailCondition(NamedTuple):
    """One part of `--fail-on`."""

    name: str
    """An outcome, `failed` or `new`."""
    share: float
    """In per cent of what it is a share of: of the judged calls, or of all for `inconclusive`."""


def fail_conditions(text: str | None) -> list[FailCondition]:
    """Read `--fail-on`.

    Raises:
        UsageError: a name that is no outcome, or none at all.
    """
    return [_condition(part) for part in parts_of_fail_on(text)]


def parts_of_fail_on(text: str | None) -> list[str]:
    """What `--fail-on` names; nothing where it was not given.

    Raises:
        UsageError: it was given and names nothing, as an unset variable does: the job would never fail.
    """
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if text is not None and not parts:
        raise UsageError("--fail-on: it names nothing; leave it out where nothing is to fail")
    return parts


def found_by(conditions: Sequence[FailCondition], outcomes: Mapping[Outcome, int], new: int = 0) -> list[str]:
    """What was found of that, in words; nothing where all is well.

    Args:
        conditions: what was asked for.
        outcomes: how many calls of each.
        new: how many failed calls nobody noted.
    """
    from replay.records import FAILURES, Outcome

    counts = {str(outcome): count for outcome, count in outcomes.items()}
    counts |= {FAILED: sum(outcomes.get(outcome, 0) for outcome in FAILURES), NEW: new}
    total = sum(outcomes.values())
    found = []
    for name, share in conditions:
        count = counts.get(name, 0)
        of = total if name == Outcome.INCONCLUSIVE else total - outcomes.get(Outcome.INCONCLUSIVE, 0)
        if count and 100 * count > share * of:
            more = f" ({100 * count / of:.1f} % of {of:,}, more than {share:g} %)" if share else ""
            found.append(f"{count} {'new failures' if name == NEW else name}{more}")
    return found


def raise_on(found: Sequence[str]) -> None:
    """End with the exit code of what `--fail-on` names, where any of it was found.

    Raises:
        FoundFailuresError: it was.
    """
    if found:
        raise FoundFailuresError(f"--fail-on: found {', '.join(found)}")


def _condition(part: str) -> FailCondition:
    from replay.records import Outcome

    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(f"--fail-on: {part!r} is not understood; write an outcome, or a share such as 'not_found>5%'")
    name, share = match["name"].strip(), float(match["share"] or 0)
    if share > 100:
        raise UsageError(f"--fail-on: {part!r} could never be found; a share is at most 100%")
    known = [FAILED, NEW, *(str(outcome) for outcome in Outcome)]
    if name not in known:
        raise UsageError(f"--fail-on: there is no outcome {name!r}; it takes {', '.join(known)}")
    return FailCondition(name, share)


def find_missing_findings(run_path: Path, *, say: bool = False) -> None:
    """Find and keep the findings of trajectories that have none yet: of an older run, or newly aligned.

    Args:
        run_path: of the run file.
        say: tell on stderr that it takes a moment.
    """
    from replay.runfile import Run
    from replay.runfile.task_runs import undiagnosed

    with Run.read(run_path) as run:
        count = len(undiagnosed(run.connection))
    if not count:
        return
    from replay.diagnosis.diagnose import FindingStore

    if say:
        echo_err(f"looking for the findings of {count} trajectories, once ...")
    try:
        with Run.open(run_path) as run:
            FindingStore(run).keep_missing()
    except RunFileError as error:
        echo_err(f"note: findings and recovery are left out: {error}")
