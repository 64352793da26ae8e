"""What a run holds of a results file follows the file: it may have been edited, or be read with other names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from replay.formats import ResultsFile
from replay.runfile.effects_journal import absolute_path
from replay.runfile.run import Run
from replay.runfile.trajectory_state import forget_verdicts_of


def follow_files(run: Run, files: Iterable[ResultsFile]) -> list[str]:
    """Take out the trajectories that results files do not hold any more, and name their models as they are read now.

    What was noted of calls with effects stays, so that none is sent twice, and so do the answers.

    Args:
        run: open for writing.
        files: as they are now.

    Returns:
        A sentence for each file that something was taken out of.
    """
    notes = []
    with run.transaction() as db:
        for file in files:
            gone = _keep_only(run, db, file)
            if gone:
                what = "1 trajectory that is" if gone == 1 else f"{gone} trajectories that are"
                notes.append(f"{file.path}: {what} not in it any more, or named otherwise now, left the run")
    return notes


def _keep_only(run: Run, db: sqlite3.Connection, file: ResultsFile) -> int:
    """How many trajectories were taken out."""
    found = db.execute("SELECT id FROM files WHERE absolute_path = ?", (absolute_path(file.path),)).fetchone()
    if found is None:
        return 0
    names = {run.name_of(identifier) for identifier in file.ids}
    db.execute("UPDATE files SET model = ? WHERE id = ?", (run.redactor.text(file.model), found[0]))
    held = db.execute("SELECT id, name FROM trajectories WHERE file = ?", found).fetchall()
    gone = [row for row, name in held if name not in names]
    for row in gone:
        forget_verdicts_of(db, row)
        db.execute("DELETE FROM trajectories WHERE id = ?", (row,))
    return len(gone)
