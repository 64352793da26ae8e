"""`replay convert`: results files to DAG files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replay.cli.input_files import InputFiles
from replay.cli.options import files_argument, names_option, strict_option, worker_location, workers_options
from replay.cli.output import file_stems
from replay.cli.terminal import echo_err, note, without_secrets
from replay.dag import infer_edges
from replay.diagnosis.phrasing import counted
from replay.errors import InputError, UsageError
from replay.formats import look_through
from replay.formats.results_file import ResultsFile, UnopenedFile
from replay.records import Trajectory
from replay.records.files import TrajectoryFile, stamped
from replay.safety.filesystem import write_atomically
from replay.safety.redaction import Redactor, secrets_around
from replay.safety.text import printable

if TYPE_CHECKING:
    from replay.replayer.pool import WorkerLocation


_TRAJECTORIES_A_PART = 500
"""Of a large file, which several workers read: each turns a part of its trajectories into files."""
EXAMPLES = """\b
Examples:
  replay convert results/gpt-5_test_mcp_fuzzy.json -o dags
  replay convert runs/*.json --names '{model}_{task}.json' -o dags
  replay convert --list ~/.claude/projects logs.zip
"""


@click.command("convert", epilog=EXAMPLES)
@files_argument
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Directory.")
@click.option("--list", "listed", is_flag=True, help="Only say what each file is, and what is in it.")
@workers_options
@names_option
@strict_option
@click.option("--anonymize", is_flag=True, help="Replace home paths, people and hosts too, as replay redact does.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def convert(
    files: tuple[Path, ...],
    output: Path | None,
    listed: bool,
    workers: int | None,
    cluster: str | None,
    names: str | None,
    strict: bool,
    anonymize: bool,
    force: bool,
) -> None:
    """Turn results files into DAG files, one a trajectory.

    FILES are files, folders (with all that is in them), glob patterns, .gz, .zip and .tar.gz archives, or - for stdin,
    of any of the formats that replay reads, also mixed. Each trajectory becomes ID.trajectory.json
    (MODEL.ID.trajectory.json where the files hold several models) with its steps, calls, recorded answers and data
    edges. Every verb reads a DAG file as it reads the original. Nothing but secrets is lost: those of a known shape, of
    the environment and under the names of keys and tokens are taken out; one of another shape stays.
    """
    if output is None and not listed:
        raise UsageError("give -o DIRECTORY for the DAG files, or --list to see what is in the files")
    location = worker_location(workers, cluster)
    if anonymize and location is not None:
        raise UsageError(
            "--anonymize goes without workers: the names of all files are looked for before one is written"
        )
    inputs = InputFiles(files, names)
    opened = inputs.open_all(need_calls=False)
    if listed:
        for results in opened:
            unanswered = f", {results.unanswered} of them without an answer" if results.unanswered else ""
            shown = f"{results.path}: {results.format} ({results.why}), {_contents(results)}{unanswered}"
            click.echo(without_secrets(printable(shown)))
    elif output is not None:
        targets = _targets(opened, output)
        _refuse_overwriting(targets.values(), force)
        output.mkdir(parents=True, exist_ok=True)
        if location is not None:
            _write_with_workers(location, opened, targets)
        redactor = _redactor(opened if anonymize else ())
        for results in opened:
            if location is None:
                texts = ((trajectory.id, _dag_file(trajectory, redactor)) for trajectory in results.trajectories())
                _write(results.path, texts, targets)
            echo_err(f"{results.path}: {_contents(results)}")
    inputs.end(strict=strict)
    if not any(results.calls for results in opened):
        raise InputError("", "no call was found in any file")


def _contents(results: ResultsFile) -> str:
    return f"{counted(len(results.ids), 'trajectory')}, {counted(results.calls, 'call')}"


def _redactor(named: Iterable[ResultsFile] = ()) -> Redactor:
    """What takes the secrets out of DAG files, and replaces the names that stand in these files."""
    from replay.cli.redact import known_identities

    redactor = Redactor(secrets_around(os.environ))
    if not named:
        return redactor
    identities = known_identities()
    for results in named:
        for trajectory in results.trajectories():
            identities.learn(redactor.record(trajectory))
    return Redactor(secrets_around(os.environ), further=identities.replaced)


def _write(source: str, files: Iterable[tuple[str, str]], targets: dict[tuple[str, str], Path]) -> None:
    """Write the DAG files of a results file, each given with the id of its trajectory."""
    for identifier, text in files:
        path = targets[source, identifier]
        write_atomically(path, text, "surrogatepass")
        click.echo(str(path))


def _dag_file(trajectory: Trajectory, redactor: Redactor) -> str:
    """The DAG file of a trajectory without secrets, its data edges inferred where the source has none."""
    edges = infer_edges(trajectory) if trajectory.edges is None else trajectory.edges
    return _written(stamped(redactor.record(TrajectoryFile(**{**dict(trajectory), "edges": edges}))))


def _written(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def dag_files(source: UnopenedFile, part: int, parts: int) -> list[tuple[str, str]]:
    """Id and DAG file of every trajectory of a file, or of every `parts`-th; what a worker does."""
    trajectories, redactor = islice(look_through(*source).trajectories(), part, None, parts), _redactor()
    return [(trajectory.id, _dag_file(trajectory, redactor)) for trajectory in trajectories]


def _write_with_workers(
    location: WorkerLocation, opened: Iterable[ResultsFile], targets: dict[tuple[str, str], Path]
) -> None:
    from replay.replayer.messages import sendable
    from replay.replayer.pool import Job
    from replay.replayer.worker_processes import workers_at

    redactor = _redactor()  # on a cluster the environment is another one

    def write(path: str, texts: list[tuple[str, str]]) -> None:
        redacted = ((identifier, _written(redactor.json(json.loads(text)))) for identifier, text in texts)
        _write(path, redacted, targets)

    def jobs() -> Iterator[Job]:
        for results in opened:
            source = sendable(results.source, by_path=location.is_local)
            parts = 1 + len(results.ids) // _TRAJECTORIES_A_PART
            for part in range(parts):
                yield Job(dag_files, (source, part, parts), partial(write, results.path))

    with workers_at(location, note) as do_all:
        do_all(jobs())


def _targets(opened: Iterable[ResultsFile], output: Path) -> dict[tuple[str, str], Path]:
    """A file for each trajectory, named safely, no two the same on any file system."""
    opened = list(opened)
    several = len({results.model for results in opened}) > 1
    names = {
        (results.path, identifier): f"{results.model}.{identifier}"
        if several and results.model != identifier
        else identifier
        for results in opened
        for identifier in results.ids
    }
    stems = file_stems(map(without_secrets, names.values()))
    return {key: output / f"{stem}.trajectory.json" for key, stem in zip(names, stems, strict=True)}


def _refuse_overwriting(paths: Iterable[Path], force: bool) -> None:
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise UsageError(f"{existing[0]}{more}: already there; give --force to overwrite, or another -o")
