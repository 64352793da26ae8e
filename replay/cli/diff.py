"""`replay diff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replay.cli.options import closed_pipe_is_no_error, json_option, without_secrets

if TYPE_CHECKING:
    from replay.records.comparison import Comparison


EXAMPLES = """\b
Examples:
  replay diff before.db after.db
  replay diff stored.db replay-run.db --fail-on worse,new
  replay diff replay-run.db --models gpt-5 claude-4.5-sonnet
"""


@click.command("diff", epilog=EXAMPLES)
@click.argument("run_path", metavar="RUN_A", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("other_path", metavar="[RUN_B]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--models", nargs=2, metavar="A B", help="Compare two models of one run.")
@click.option(
    "--fail-on",
    metavar="WHAT",
    help="Exit with 1 on: worse (a call came out worse), new (a failed call that only RUN_B has); comma-separated.",
)
@json_option
def diff(
    run_path: Path, other_path: Path | None, models: tuple[str, str] | None, fail_on: str | None, as_json: bool
) -> None:
    """Compare two runs, or two models of one run.

    Calls are the same where model, trajectory, position and tool are. Worse is a step down from success, not found,
    invalid arguments, unknown tool to illegal format; inconclusive calls are neither better nor worse.
    """
    from replay.comparison import compare_models, compare_runs
    from replay.errors import UsageError
    from replay.reports.comparison_text import difference_text
    from replay.runfile import Run

    conditions = _fail_conditions(fail_on)
    if (other_path is None) == (models is None):
        raise UsageError("say what to compare: RUN_A RUN_B, or RUN --models A B")
    with Run.read(run_path) as run:
        if models is not None:
            comparison = compare_models(run, *models)
        else:
            assert other_path is not None
            with Run.read(other_path) as other:
                comparison = compare_runs(run, other)
    with closed_pipe_is_no_error():
        if as_json:
            from replay.reports.json_documents import DIFF_FORMAT, DIFF_VERSION

            document = {
                "format": DIFF_FORMAT,
                "version": DIFF_VERSION,
                **comparison.model_dump(mode="json", by_alias=True),
            }
            click.echo(json.dumps(without_secrets(document), ensure_ascii=True, indent=1))
        else:
            click.echo(without_secrets(difference_text(comparison)))
    _raise_on(comparison, conditions)


def _fail_conditions(fail_on: str | None) -> set[str]:
    from replay.errors import UsageError

    conditions = {part.strip() for part in (fail_on or "").split(",") if part.strip()}
    unknown = sorted(conditions - {"worse", "new"})
    if unknown:
        raise UsageError(f"--fail-on: there is no {unknown[0]!r}; it takes worse, new")
    return conditions


def _raise_on(comparison: Comparison, conditions: set[str]) -> None:
    from replay.errors import FoundFailuresError

    found = []
    if "worse" in conditions and comparison.worse:
        found.append(f"{len(comparison.worse)} worse")
    if "new" in conditions and comparison.new_failures:
        found.append(f"{len(comparison.new_failures)} new failures")
    if found:
        raise FoundFailuresError(f"--fail-on: found {', '.join(found)}")
