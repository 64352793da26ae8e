"""`replay recover`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import FILE
from replay.cli.terminal import echo_err
from replay.errors import InputError
from replay.runfile.salvage import Salvage, damage_of, salvage_run
from replay.safety.filesystem import open_regular

EXAMPLES = """\b
Examples:
  replay recover replay-run.db
  replay recover replay-run.db -o saved.db
  replay recover run.trajectory.json.partial
"""


@click.command("recover", epilog=EXAMPLES)
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, help="Write to this file.")
def recover(file: Path, output: Path | None) -> None:
    """Save what can be read of a damaged run file or recording.

    Of a run file, what can be read goes into a new one, by default NAME.recovered.db beside it; the damaged file stays
    as it is. A recording that was cut off (FILE.partial) becomes a trajectory file, without the lines that cannot be
    read, as by `replay record --recover`; the partial file then goes, or, where lines were lost, is kept as
    FILE.partial.damaged. A session of an agent that was cut off needs none of it: classify reads what is there.
    """
    if not file.exists():
        raise InputError(str(file), "there is no such file")
    if not file.is_file():
        raise InputError(str(file), "not a regular file")
    if _is_recording(file):
        from replay.recorder.recording_store import recover as finish_interrupted

        echo_err(f"recovered {finish_interrupted(file, output)}")
        return
    damage = damage_of(file)
    if damage is None:
        echo_err(f"{file}: nothing is damaged")
        return
    found = salvage_run(file, output or file.with_name(f"{file.stem}.recovered.db"))
    echo_err(f"{file}: damaged: {damage.partition(';')[0]}")
    for line in _summary(found):
        echo_err(line)


def _summary(found: Salvage) -> list[str]:
    saved = ", ".join(f"{found.saved[table]} {table}" for table in ("trajectories", "calls", "answers"))
    lines = [f"{found.path}: saved {saved}"]
    lost = ", ".join(f"{count} of {table}" for table, count in found.lost.items() if count > 0)
    if lost:
        lines.append(f"lost, as far as it is known: {lost}")
    elsewhere = sorted(found.damaged)
    if elsewhere:
        lines.append(f"more may be lost of: {', '.join(elsewhere)}; classify on the new file judges what is missing")
    if "journal" in found.damaged or found.lost["journal"]:
        lines.append("the journal of calls with effects is damaged: classify may send some of them again")
    return lines


def _is_recording(path: Path) -> bool:
    """By its content, and by its name where the beginning is lost."""
    with open_regular(path) as file:
        start = file.read(4096)
    return b'"replay.recording"' in start or (path.name.endswith(".partial") and not start.startswith(b"SQLite"))
