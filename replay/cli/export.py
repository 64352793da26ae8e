"""`replay export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import tee
from pathlib import Path

import click

from replay.cli.options import read_run_option, run_to_read
from replay.cli.output import file_stems
from replay.cli.terminal import echo_err
from replay.errors import UsageError
from replay.exporting import FORMATS
from replay.exporting import export as exported
from replay.records import JsonObject
from replay.runfile import Run
from replay.safety.filesystem import write_atomically

EXAMPLES = """\b
Examples:
  replay export --format inspect -o logs && inspect view --log-dir logs
  replay export --format otlp -o traces
  replay export --format atif --trajectory 00060000 > trajectory.json
  replay export --run nightly.db --format openai --model gpt-5 -o chats
"""


@click.command("export", epilog=EXAMPLES)
@read_run_option
@click.option("--format", "form", type=click.Choice(list(FORMATS)), required=True, help="Whose format.")
@click.option("--trajectory", metavar="ID", help="Only the trajectories with this id.")
@click.option("--model", metavar="NAME", help="Only the trajectories of this model.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Directory for the files.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def export(
    run_argument: Path | None,
    run_path: Path | None,
    form: str,
    trajectory: str | None,
    model: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write trajectories with their verdicts in the formats of other tools.

    atif is for Harbor, otlp for what shows OpenTelemetry traces, inspect for Inspect's log viewer (a log a results
    file), openai is chat messages. Verdicts stand where each format has room for what it does not know: ATIF's extra,
    span attributes and events, the metadata of Inspect's scores. Without -o the one document goes to stdout. Secrets
    are taken out.
    """
    with Run.read(run_to_read(run_path, run_argument)) as run:
        documents = exported(run, form, trajectory=trajectory, model=model)
        if output is None:
            _, document = next(documents)
            if next(documents, None) is not None:
                raise UsageError("these are several documents; name a directory with -o, or one with --trajectory")
            click.echo(json.dumps(document, ensure_ascii=True, indent=1))
            return
        count = sum(1 for _ in _written(documents, output, force))
    echo_err(f"wrote {count} {'file' if count == 1 else 'files'} to {output}")


def _written(documents: Iterator[tuple[str, JsonObject]], output: Path, force: bool) -> Iterator[Path]:
    """Write each document to a file of its own; no two have the same name on any file system."""
    names, contents = tee(documents)
    for stem, (_, document) in zip(file_stems(name for name, _ in names), contents, strict=True):
        path = output / f"{stem}.json"
        if path.exists() and not force:
            raise UsageError(f"{path} exists; overwrite it with --force")
        output.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, ensure_ascii=True, indent=1) + "\n", "replace")
        click.echo(str(path))
        yield path
