"""`replay judge`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import click

from replay.chat import Limits, ModelSettings, read_models
from replay.cli.compare import run_among
from replay.cli.options import (
    FILE,
    fleet_of,
    fleet_option,
    json_option,
    names_option,
    reference_option,
    run_option,
    strict_option,
)
from replay.cli.output import check_free, output_options, stdout_width, write_output
from replay.cli.terminal import SlowLines, echo_err, ended_in_order
from replay.errors import NoServerReachedError, UsageError
from replay.formats import open_file
from replay.formats.task_list import read_tasks
from replay.judging.asking import AskingProgress, RatingRequest, ask_all, estimated_tokens, open_requests
from replay.judging.prompts import RatedRun, TaskKnowledge, runs_in_file, runs_of
from replay.judging.scores import rated, report_of, score_file
from replay.records.rating import PROTOCOLS, Protocol
from replay.runfile import Run
from replay.runfile.task_runs import is_rated
from replay.safety.redaction import Redactor, secrets_around

EXAMPLES = """\b
Examples:
  replay judge --judges judges.yaml --protocol m3 --reference test_mcp_GT.json
  replay judge results/*.json --judges judges.yaml --protocol mcpeval --dry-run
  replay judge nightly.db --judges judges.yaml --protocol mcpbench --tasks mcpbench_tasks.json --max-tokens 2000000
  replay judge --judges judges.yaml --protocol m3 -o scores.json && replay align results/*.json --judge scores.json \\
    --reference test_mcp_GT.json
"""


@click.command("judge", epilog=EXAMPLES)
@click.argument("files", metavar="[RUN|RESULTS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--judges",
    "judges_path",
    required=True,
    type=FILE,
    help="Which models judge: YAML with base_url, model, api_key_env, temperature of each (docs/judges.md).",
)
@click.option("--protocol", required=True, type=click.Choice(PROTOCOLS), help="Whose rubric is asked for.")
@run_option("The run file, in which every reply is kept; task runs are taken from it where no RESULTS are named.")
@reference_option("With --protocol m3: reference trajectories, for information grounding.")
@click.option(
    "--tasks",
    "tasks_path",
    type=FILE,
    help="The benchmark's list of tasks: questions, concrete descriptions and dependency analyses.",
)
@click.option("--dry-run", is_flag=True, help="Ask nothing: print how many requests there would be, and their tokens.")
@click.option("--max-calls", type=click.IntRange(1), help="Make no more requests than that.")
@click.option("--max-tokens", type=click.IntRange(1), help="Ask no more once so many tokens were read and written.")
@click.option("--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time.")
@fleet_option
@names_option
@strict_option
@json_option
@output_options()
def judge(
    files: tuple[Path, ...],
    judges_path: Path,
    protocol: Protocol,
    run_path: Path,
    reference: Path | None,
    tasks_path: Path | None,
    dry_run: bool,
    max_calls: int | None,
    max_tokens: int | None,
    jobs: int,
    fleet_path: Path | None,
    names: str | None,
    strict: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Have models judge task runs by a paper's rubric, with prompts of our own.

    This is the one verb beside drive that calls a model, and the judges' file says which. Each reply is kept in the run
    as soon as it came, and is never asked for again. Secrets are taken out of what is sent. With -o FILE the scores of
    M3-Bench's two columns are written as replay align --judge reads them.
    """
    if output is not None:
        check_free(output, force=force)
        if protocol != "m3":
            raise UsageError("-o writes the scores that replay align --judge reads: it goes with --protocol m3")
    judges = read_models(judges_path)
    inputs, run_path = run_among(files, run_path, names)
    if inputs is None and not run_path.exists():
        raise UsageError(f"{run_path}: there is no such run; name results files, or make one with: replay classify")
    tasks = {task.id: task for task in read_tasks(tasks_path)} if tasks_path else {}
    references = open_file(reference).trajectories() if reference else ()
    knowledge = TaskKnowledge(tasks, {trajectory.id: trajectory for trajectory in references})
    fleet = fleet_of(fleet_path)
    redactor = Redactor({*(fleet.secrets() if fleet else ()), *secrets_around(os.environ)})
    with ended_in_order(), Run.open(run_path, redactor=redactor) as run:
        if inputs is None:
            task_runs = runs_in_file(run, knowledge)
        else:
            task_runs = runs_of(inputs.open_all(need_calls=False), knowledge)
        requests = list(open_requests(run, task_runs(), protocol, judges, run.redactor))
        if dry_run:
            _estimate(requests, judges)
            return
        _ask(run, requests, judges, Limits(calls=max_calls, tokens=max_tokens), jobs)
        _print(run, protocol, task_runs, judges, requests, as_json=as_json, output=output)
    if inputs is not None:
        inputs.end(strict=strict)


def _estimate(requests: Sequence[RatingRequest], judges: Mapping[str, ModelSettings]) -> None:
    """What asking would take."""
    for name, settings in judges.items():
        own = [request for request in requests if request.key.judge == name]
        tokens = sum(map(estimated_tokens, own))
        click.echo(f"{name} ({settings.model} at {settings.base_url}): {len(own)} requests, about {tokens:,} tokens in")
    click.echo("nothing was asked; an unreadable reply is asked for once more, and replies come on top")


def _ask(
    run: Run,
    requests: list[RatingRequest],
    judges: Mapping[str, ModelSettings],
    limits: Limits,
    jobs: int,
) -> None:
    """Ask what is not answered yet, and say where it goes and what it took.

    Raises:
        NoServerReachedError: not one judge gave a reply.
    """
    if not requests:
        echo_err("every judgement is in the run already; nothing is asked")
        return
    for name, settings in judges.items():
        count = sum(request.key.judge == name for request in requests)
        echo_err(f"sending {count} prompts to {name}: {settings.model} at {settings.base_url}, secrets taken out")
    progress, lines = AskingProgress(), SlowLines()

    async def ask() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell, progress, limits, lines)
            await ask_all(run, requests, judges, limits, progress, jobs=jobs, say=echo_err)
            tasks.cancel_scope.cancel()

    anyio.run(ask)
    for why, count in progress.failed.items():
        echo_err(f"note: {count} without a reply: {why}")
    echo_err(
        f"{progress.done} replies kept, {progress.missing} missing; {limits.asked} requests, "
        f"{limits.input_tokens:,} tokens in, {limits.output_tokens:,} out"
    )
    if not progress.done:
        raise NoServerReachedError(f"no judge gave a reply: {next(iter(progress.failed), '')}")


async def _tell(progress: AskingProgress, limits: Limits, lines: SlowLines) -> None:
    while True:
        await anyio.sleep(1)
        tokens = limits.input_tokens + limits.output_tokens
        lines.tell(f"judging: {progress.done}/{progress.total} replies, {progress.missing} missing, {tokens:,} tokens")


def _print(
    run: Run,
    protocol: Protocol,
    task_runs: Callable[[], Iterator[RatedRun]],
    judges: Mapping[str, ModelSettings],
    requests: Sequence[RatingRequest],
    *,
    as_json: bool,
    output: Path | None,
) -> None:
    from replay.reports import document_text
    from replay.reports.judges import judges_text

    unanswered = Counter(
        request.model
        for request in requests
        if not is_rated(run.connection, request.key, judges[request.key.judge].model, request.asked.digest)
    )
    report = report_of(run, protocol, task_runs, judges, unanswered)
    if output is not None:
        scores = score_file(rated(run, protocol, task_runs(), judges), protocol)
        write_output([json.dumps(scores, indent=1) + "\n"], output)
    text = document_text(report) if as_json else judges_text(report, stdout_width())
    write_output([text], None)
