"""`replay drive`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from replay.chat import Limits, ModelSettings
from replay.cli.options import allow_effects_option, fleet_of, fleet_option
from replay.cli.output import file_stems
from replay.cli.progress import echo_server_event
from replay.cli.terminal import closed_pipe_ignored, echo_err, ended_in_order
from replay.diagnosis.phrasing import counted
from replay.driving.drive import DrivenTask, Driver, DriveSettings, finished, write_m3_results
from replay.driving.protocols import TURNS, DriveProtocol
from replay.errors import NoServerReachedError, UsageError
from replay.formats.task_list import TaskDescription, read_tasks
from replay.interpreter import Fleet
from replay.records import Trajectory
from replay.reports.tables import Column, Table
from replay.safety.redaction import Redactor, secrets_around

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


EXAMPLES = """\b
Examples:
  replay drive tasks.json --model gpt-5 --servers servers.yaml -o results/
  replay drive test_mcp_GT.json --model qwen3 --base-url http://127.0.0.1:8000/v1 --protocol m3 -o results/
  replay drive mcpbench_tasks.json --model o4-mini --protocol mcpbench --max-tokens 5000000 --jobs 4 -o results/
"""


@click.command("drive", epilog=EXAMPLES)
@click.argument("tasks_path", metavar="TASKS", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--model", "name", required=True, help="The model's name at the endpoint.")
@click.option(
    "--base-url",
    metavar="URL",
    help="Endpoint of the OpenAI protocol, up to /v1.  [default: the variable OPENAI_BASE_URL]",
)
@click.option(
    "--api-key-env",
    metavar="NAME",
    help="The variable that holds the key.  [default: OPENAI_API_KEY, where it is set]",
)
@click.option("--temperature", type=float, help="Left out where not given, or where the model refuses it.")
@click.option("--max-output-tokens", type=click.IntRange(1), help="Tokens of one reply.")
@click.option("--stream", is_flag=True, help="Take replies piece by piece.")
@click.option(
    "--protocol",
    type=click.Choice(list(TURNS)),
    default="native",
    show_default=True,
    help="How the model is led: function calling, M3-Bench's four stages, or MCP-Bench's rounds.",
)
@fleet_option
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write."
)
@click.option("--max-turns", type=click.IntRange(1), help="Turns of a task.  [default: native 100, others 20]")
@click.option("--max-calls", type=click.IntRange(1), help="Make no more requests to the model than that, in all.")
@click.option("--max-tokens", type=click.IntRange(1), help="Ask no more once so many tokens were read and written.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Ask no more after so many seconds.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Tasks at a time.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take the first N tasks.")
@allow_effects_option("Offer tools of this server although they may change something outside a sandbox.")
def drive(
    tasks_path: Path,
    name: str,
    base_url: str | None,
    api_key_env: str | None,
    protocol: DriveProtocol,
    fleet_path: Path | None,
    output: Path,
    max_turns: int | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    jobs: int,
    limit: int | None,
    allow_effects: tuple[str, ...],
    **of_requests: Any,  # fields of `ModelSettings`
) -> None:
    """Have a model work on tasks through the fleet's servers, and record what it does.

    This is the one verb beside judge that calls a model. TASKS is a benchmark's list of tasks, or any results or
    reference file, whose questions they are. Each task is worked on in a sandbox of its own; its trajectory is written
    to OUTPUT/trajectories, and all of them as M3-Bench results. The same command goes on where one was broken off:
    nothing is asked twice that was answered.
    """
    tasks = read_tasks(tasks_path)[:limit]
    fleet = fleet_of(fleet_path, "Name one with --servers FILE: the model works with its tools.")
    assert fleet is not None
    fleet.require(allow_effects)
    settings = DriveSettings(
        model=_model(name, base_url, api_key_env, of_requests),
        protocol=protocol,
        turns=max_turns or TURNS[protocol],
        limits=Limits(calls=max_calls, tokens=max_tokens, seconds=max_seconds),
        jobs=jobs,
        allow_effects=frozenset(allow_effects),
    )
    with ended_in_order():
        _drive(tasks_path, tasks, fleet, settings, output)


def _model(name: str, base_url: str | None, api_key_env: str | None, of_requests: Any) -> ModelSettings:
    from pydantic import ValidationError

    where = base_url or os.environ.get("OPENAI_BASE_URL")
    if where is None:
        raise UsageError("say where the model is: --base-url URL, or the variable OPENAI_BASE_URL")
    key = api_key_env or ("OPENAI_API_KEY" if os.environ.get("OPENAI_API_KEY") else None)
    try:
        return ModelSettings(base_url=where, model=name, api_key_env=key, **of_requests)
    except ValidationError:
        raise UsageError(f"--base-url {where}: must begin with http:// or https://") from None


def _drive(
    tasks_path: Path, tasks: Sequence[TaskDescription], fleet: Fleet, settings: DriveSettings, output: Path
) -> None:
    """Drive what is not done yet, write the results, and say what there is."""
    folder = output / "trajectories"
    folder.mkdir(parents=True, exist_ok=True)
    stems = file_stems(task.id for task in tasks)
    driven = [
        DrivenTask(task, folder / f"{stem}.trajectory.json", tasks_path)
        for task, stem in zip(tasks, stems, strict=True)
    ]
    _check_same(finished(driven), settings, folder)
    left = [task for task in driven if not task.target.exists()]
    if left:
        model = settings.model
        echo_err(
            f"sending {counted(len(left), 'task')} to {model.model} at {model.base_url}, with what the tools answer"
        )
        redactor = Redactor({*fleet.secrets(), *secrets_around(os.environ)})
        driver = Driver(fleet, settings, redactor, echo_err, echo_server_event)
        for problem, ids in anyio.run(driver.drive, left).problems.items():
            echo_err(f"note: {len(ids)} not finished ({', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''}): {problem}")
    done = list(finished(driven))
    if not done:
        raise NoServerReachedError("no task was finished; the same command goes on where this one stopped")
    results = output / f"{next(file_stems([settings.model.model]))}_test_mcp_fuzzy.json"
    write_m3_results(done, results)
    echo_err(f"wrote {results} and {counted(len(done), 'trajectory')}")
    _print(done, len(driven), folder)


def _check_same(done: Iterable[Trajectory], settings: DriveSettings, folder: Path) -> None:
    """See that what is done already is this model's, by this protocol.

    Raises:
        UsageError: it is not.
    """
    for trajectory in done:
        protocol = (trajectory.reported.details or {}).get("protocol") if trajectory.reported else None
        if (trajectory.model, protocol) != (settings.model.model, settings.protocol):
            whose = f"{trajectory.model} by {protocol}"
            raise UsageError(f"{folder} holds what was driven with {whose}; name another folder with -o")


def _print(done: Sequence[Trajectory], wanted: int, folder: Path) -> None:
    heads = ("steps", "calls", "unreadable", "tokens in", "tokens out")
    columns = [Column("task", "name"), *(Column(head, "number") for head in heads), Column("ended")]
    with closed_pipe_ignored():
        click.echo("\n".join(Table(columns, list(map(_row, done))).text(longest_name=40)))
        if len(done) < wanted:
            click.echo(f"{wanted - len(done)} of {wanted} tasks are not finished; the same command goes on with them")
        command = shlex.join(["replay", "classify", str(folder)])
        click.echo(f"\nNext: {command}")


def _row(trajectory: Trajectory) -> list[object]:
    calls, usage, reported = list(trajectory.calls()), trajectory.usage, trajectory.reported
    unreadable = sum(call.unreadable is not None for call in calls)
    tokens = [usage.input_tokens or 0, usage.output_tokens or 0] if usage else ["-", "-"]
    ended = str((reported.details or {}).get("ended", "")) if reported else ""
    return [trajectory.id, len(trajectory.steps), len(calls), unreadable, *tokens, ended]
