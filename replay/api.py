"""The Python interface: what the verbs do, as functions that take paths and give records.

`import replay` gives these names, and loads them when they are used.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Self

from replay.errors import FormatError, InputError, MissingExtraError, install_command
from replay.formats import FileNames, ResultsFile, open_files
from replay.records import Outcome, Trajectory
from replay.records.alignment import AlignedModel, ToolArgsMatchMode
from replay.records.audit import Audit
from replay.records.comparison import ModelComparison
from replay.records.files import CallRow
from replay.records.summary import RunSummary

if TYPE_CHECKING:
    import pandas as pd

    from replay.interpreter import Fleet
    from replay.replayer.cassette import Cassette
    from replay.replayer.plan import Options
    from replay.runfile import Run as RunFile

Paths = str | Path | Iterable[str | Path]
"""A file, a folder, a pattern or an archive; or several."""


class Run:
    """A run: trajectories whose calls are judged. Made by `classify` and `open_run`; shown as a table in a notebook.

    Args:
        path: of the run file.
        directory: goes with the run.
    """

    def __init__(self, path: Path, directory: str | None = None) -> None:
        from replay.runfile import Run as RunFile

        self.path = path
        """Of the run file, which every verb of the command line reads."""
        self._remove = weakref.finalize(self, rmtree, directory, ignore_errors=True) if directory else None
        self._file: RunFile = RunFile.read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the run file; one that `classify` was given no path for is gone."""
        self._file.close()
        if self._remove is not None:
            self._remove()

    @property
    def summary(self) -> RunSummary:
        """Counts by model, what went wrong most, and the root causes."""
        from replay.runfile import summarize

        return summarize(self._file)

    def calls(self) -> list[CallRow]:
        """Every call with its verdict, trajectory by trajectory."""
        from replay.runfile import call_rows

        return list(call_rows(self._file))

    def trajectories(self) -> list[JudgedTrajectory]:
        """Every trajectory with the verdicts of its calls."""
        from replay.runfile import call_rows
        from replay.runfile.trajectory_queries import trajectory_places, trajectory_record

        return [
            JudgedTrajectory(
                place.model,
                trajectory_record(self._file.connection, place.row),
                list(call_rows(self._file, trajectory=place.row)),
            )
            for place in trajectory_places(self._file)
        ]

    def to_pandas(self) -> pd.DataFrame:
        """A row a call: where it stands, and its verdict.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(install_command("pandas"), "Run.to_pandas") from None
        rows = [row.model_dump(mode="json") for row in self.calls()]
        return pd.DataFrame(rows, columns=list(CallRow.model_fields))

    def __repr__(self) -> str:
        models = self.summary.models
        return f"<Run: {sum(model.calls for model in models)} calls of {len(models)} models>"

    def _repr_html_(self) -> str:
        models = self.summary.models
        head = ["model", "calls", *(outcome.label for outcome in Outcome)]
        rows = [[model.model, model.calls, *(model.outcomes[outcome] for outcome in Outcome)] for model in models]
        return _html_table(head, rows)


class JudgedTrajectory:
    """A trajectory of a run with the verdicts of its calls; shown as a table in a notebook."""

    def __init__(self, model: str, record: Trajectory, calls: list[CallRow]) -> None:
        self.model = model
        self.record = record
        """As it was replayed, with its data edges."""
        self.calls = calls

    def __repr__(self) -> str:
        return f"<JudgedTrajectory: {len(self.calls)} calls of {self.model} in {self.record.id}>"

    def _repr_html_(self) -> str:
        rows = [[row.call, row.tool or "(no name)", row.outcome.label, row.message] for row in self.calls]
        return f"<p>{_text(f'{self.model}: {self.record.id}')}</p>" + _html_table(
            ["call", "tool", "outcome", "why"], rows
        )


def classify(
    files: Paths,
    *,
    servers: str | Path | None = None,
    cassette: str | Path | None = None,
    run: str | Path | None = None,
    names: str | None = None,
    jobs: int = 4,
    allow_effects: Iterable[str] = (),
    on_note: Callable[[str], None] = lambda text: None,
) -> Run:
    """Put every call into one of the outcomes.

    Args:
        files: results files of any known format, folders or archives.
        servers: a fleet file, or the server JSON of an MCP client: its servers are started and the calls re-issued.
            Without it nothing is started, and the recorded answers are judged.
        cassette: the answers in this file judge; no server is started.
        run: the run file, which is resumed where it exists; by default one that goes with the result.
        names: how file names give model and task, e.g. "{model}_{task}.json".
        jobs: trajectories side by side.
        allow_effects: servers whose calls are re-issued although they may change something.
        on_note: told in a sentence what is odd about files and servers, and which files could not be read.

    Raises:
        InputError: no file can be read, or no call is in any.
        NoServerReachedError: not one server could be started.
    """
    from anyio.from_thread import start_blocking_portal

    from replay.analysis.answer_labels import known_labels
    from replay.interpreter import Fleet
    from replay.replayer.cassette import read_cassette
    from replay.replayer.plan import Options

    opened = _opened(files, names, on_note)
    if not sum(file.calls for file in opened):
        raise InputError("", "no call was found in any file")
    fleet = Fleet.load(Path(servers)) if servers is not None else None
    options = Options(
        jobs=jobs,
        allow_effects=frozenset(allow_effects),
        offline=fleet is None or cassette is not None,
        labels=known_labels(fleet),
    )
    answers = read_cassette(Path(cassette)) if cassette is not None else None
    for warning in answers.warnings(fleet) if answers is not None else ():
        on_note(warning)
    directory = mkdtemp(prefix="replay-") if run is None else None
    path = Path(directory, "replay-run.db") if directory else Path(run or "")
    with start_blocking_portal() as portal:  # a notebook has an event loop of its own in this thread
        portal.call(_judge, opened, path, fleet, answers, options, on_note)
    return Run(path, directory)


def open_run(path: str | Path = "replay-run.db") -> Run:
    """Open a run file that `replay classify` or `classify` made.

    Raises:
        RunFileError: there is none, or it is not a run file.
    """
    return Run(Path(path))


def compare(run: Run, *, by: str | None = None, metric: str | None = None) -> ModelComparison:
    """Set the models of a run side by side, with intervals and tests, as `replay compare` does.

    Args:
        run: whose models are compared; it is written to where findings are missing.
        by: a stratum, e.g. "task-type".
        metric: the measure that strata and differences are of.

    Raises:
        UsageError: there is no such measure or stratum.
    """
    from replay.analysis.compare import CompareSettings, compare_models
    from replay.diagnosis.diagnose import FindingStore
    from replay.runfile import Run as RunFile
    from replay.runfile.task_runs import undiagnosed

    if undiagnosed(run._file.connection):
        with RunFile.open(run.path) as writable:
            FindingStore(writable).keep_missing()
    return compare_models(run._file, CompareSettings(by=by, metric=metric))


def align(
    files: Paths,
    reference: str | Path,
    *,
    names: str | None = None,
    tool_args_match_mode: ToolArgsMatchMode = "exact",
) -> list[AlignedModel]:
    """Score predictions against a reference, a model each, as `replay align` does.

    Args:
        files: results files of any known format.
        reference: the reference file.
        names: how file names give model and task.
        tool_args_match_mode: how the trajectory matches compare arguments, as in `agentevals`.

    Raises:
        MissingExtraError: the extra `align` or `encoder` is not installed.
        InputError: nothing can be read, or has a task of the reference.
    """
    from replay.alignment.aligner import AlignmentSettings, Results, align_model, group_by_model, signatures_to_embed
    from replay.alignment.embedding_cache import Embedder, default_path
    from replay.alignment.judges import Judges
    from replay.alignment.tasks import pair_ids, read_reference, sign
    from replay.formats import open_file

    expected = read_reference(open_file(reference), {})
    results = [
        Results(file.path, file.model, {item.id: sign(item) for item in file.trajectories()})
        for file in _opened(files, names, lambda text: None)
        if pair_ids(expected.tasks, file.ids)
    ]
    if not results:
        raise InputError("", f"no file has a task of {reference}")
    embedder = Embedder(None, default_path(), lambda text: None)
    vectors = embedder.embed(signatures_to_embed(expected, results))
    settings = AlignmentSettings(encoder=embedder.model.name, tool_args_match_mode=tool_args_match_mode)
    models = group_by_model(expected, results)
    return [align_model(expected, model, vectors, settings, Judges()).model for model in models]


def audit(run: Run) -> Audit:
    """Tell how much of a benchmark's scores is the models' own, as `replay audit` does."""
    from replay.analysis.audit import audit as audit_run

    return audit_run(run._file)


def report(
    run: Run,
    format: str = "markdown",  # noqa: A002
    *,
    call: str | None = None,
    trajectory: str | None = None,
    model: str | None = None,
    filter: str | None = None,  # noqa: A002
) -> str:
    """A diagnosis as text, without secrets.

    Args:
        run: the run.
        format: "markdown", "html", "json", "csv", "junit" or "svg".
        call: only of this call, "TRAJECTORY:s2c1".
        trajectory: only of this one, by its id.
        model: only of this one.
        filter: only of the calls that match, written as in the browser.

    Raises:
        UsageError: an id that is not there, or a filter that matches nothing.
    """
    from replay.errors import UsageError
    from replay.reports import FORMATS, Selection, render

    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    return render(run._file, format, Selection(call, trajectory, model, filter))


def _opened(files: Paths, names: str | None, on_note: Callable[[str], None]) -> list[ResultsFile]:
    """The files that can be read; of the others it is told why not.

    Raises:
        InputError: none can.
    """
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    problems: list[FormatError] = []
    opened = list(open_files(paths, FileNames(names), problems.append, on_note))
    if not opened:
        raise problems[0] if problems else InputError("", "no file could be read")
    for problem in problems:
        on_note(str(problem))
    return opened


async def _judge(
    files: list[ResultsFile],
    path: Path,
    fleet: Fleet | None,
    cassette: Cassette | None,
    options: Options,
    on_note: Callable[[str], None],
) -> None:
    from replay.diagnosis.diagnose import FindingStore
    from replay.replayer.classifier import classify_live, classify_stored
    from replay.replayer.plan import Progress
    from replay.runfile import Run as RunFile
    from replay.runfile.repeated_calls import leave_out_repeated
    from replay.safety.redaction import Redactor

    progress = Progress(warn=on_note)
    with RunFile.open(path, redactor=Redactor(fleet.secrets() if fleet else ())) as run:
        if fleet is None or cassette is not None:
            stored = cassette.evidence(fleet) if cassette is not None else {}
            await classify_stored(run, files, options, progress=progress, fleet=fleet, **stored)
        else:
            logs = path.with_name(f"{path.stem}.logs")
            await classify_live(run, files, fleet, options, logs=logs, progress=progress)
        leave_out_repeated(run)
        FindingStore(run).keep_missing()
    for text in progress.notes:
        on_note(text)


def _text(value: Any) -> str:
    from replay.safety.redaction import clean
    from replay.safety.text import one_line

    return escape(one_line(clean(str(value)), 300))


def _html_table(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    cells = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    lines = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)
    return f"<table><tr>{cells}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
