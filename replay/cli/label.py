"""`replay label`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.analysis.answer_labels import KINDS, AnswerLabel, Survey, read_labels, survey, write_label
from replay.cli.options import json_option
from replay.cli.terminal import closed_pipe_ignored, echo_err
from replay.diagnosis.phrasing import counted
from replay.errors import UsageError
from replay.records import Outcome, Reason
from replay.safety.redaction import Redactor
from replay.safety.text import one_line

EXAMPLES = """\b
Examples:
  replay label results/*.json
  replay label results/*.json --mean 3f9ac2d1b0=not_found --note 'nobody of that name'
  replay label results/*.json --mean 81c0de7f21=inconclusive:rate-limited
  replay label --survey ~/trajectories --count 300
"""


@click.command("label", epilog=EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--survey", "folder", type=click.Path(path_type=Path, exists=True), help="Look through all files below DIR."
)
@click.option("--mean", metavar="ID=OUTCOME[:REASON]", help="Say what the answers of a template mean.")
@click.option("--note", default="", help="With --mean: the sentence that verdicts show.")
@click.option(
    "--labels",
    "labels_path",
    type=click.Path(path_type=Path),
    default="replay-labels.yaml",
    show_default=True,
    help="The file of labels; classify reads it from here or from beside the fleet file.",
)
@click.option("--count", default=20, show_default=True, help="Templates that are shown.")
@json_option
def label(
    files: tuple[Path, ...],
    folder: Path | None,
    mean: str | None,
    note: str,
    labels_path: Path,
    count: int,
    as_json: bool,
) -> None:
    """Say once what answers mean that rest on nothing; survey recorded answers.

    Recorded answers that neither a flag nor a code nor their words decide are listed by template, the most frequent
    first. `--mean` writes into replay-labels.yaml what a template means; from then on every run knows. `--survey` looks
    through a folder of trajectories of any format, also for answers that their flag or the model's next words
    contradict.
    """
    paths = (*files, *((folder,) if folder is not None else ()))
    if not paths:
        raise UsageError("name files of results, or a folder with --survey DIR")
    found = survey(paths, [label.rule() for label in read_labels(labels_path)])
    if not found.files:
        raise UsageError("no file of results could be read; a run file is none: name what it was judged from")
    if mean is not None:
        _write(found, mean, note, labels_path)
        return
    kind = None if folder is not None else "rests-on-nothing"
    with closed_pipe_ignored():
        click.echo(_as_json(found, count, kind) if as_json else _as_text(found, count, kind))
    if found.unreadable:
        echo_err(f"note: {counted(found.unreadable, 'file')} of no known format, or broken, not looked at")


def _write(found: Survey, mean: str, note: str, path: Path) -> None:
    mark, _, meaning = mean.partition("=")
    outcome, _, reason = meaning.partition(":")
    clusters = [one for one in found.clusters.values() if mark and one.id.startswith(mark)]
    if len({one.id for one in clusters}) != 1:
        raise UsageError(
            f"--mean: {len(clusters) or 'no'} template{'s' * (len(clusters) != 1)} {mark!r} in these files"
        )
    if outcome not in set(Outcome) or (reason and reason not in set(Reason)):
        raise UsageError(f"--mean: {meaning!r} is not an outcome, or inconclusive with a reason")
    if (outcome == Outcome.INCONCLUSIVE) != bool(reason):
        raise UsageError("--mean: a reason goes with inconclusive, and with no other outcome")
    cluster = clusters[0]
    written = AnswerLabel(
        tool=cluster.tool,
        template=cluster.template,
        outcome=Outcome(outcome),
        reason=Reason(reason) if reason else None,
        note=note,
    )
    write_label(path, written)
    echo_err(f"{path}: answers of {cluster.tool} like {cluster.id} are {meaning}")


def _as_text(found: Survey, count: int, kind: str | None) -> str:
    nothing = found.counts["rests-on-nothing"]
    lines = [f"Of {found.answers:,} answers in {found.files:,} files {nothing:,} rest on nothing"]
    if kind is None:
        lines += [f"  {found.counts[name]:,} {name}: {sentence}" for name, sentence in KINDS.items()]
    for cluster in found.largest(count, kind):
        head = f"{cluster.id}  {cluster.answers:>6,}  {cluster.kind}  {one_line(cluster.tool, 60)}  ({cluster.rule})"
        lines += [head, f"    {one_line(cluster.example, 160)}"]
    more = len(found.largest(len(found.clusters), kind)) - count
    lines += [f"And {more:,} more: --count {count + more} shows all"] * (more > 0)
    return str(Redactor().text("\n".join(lines)))


def _as_json(found: Survey, count: int, kind: str | None) -> str:
    from replay.cli.output import json_text
    from replay.reports.json_ import LabelledTemplate, SurveyDocument

    document = SurveyDocument(
        files=found.files,
        unreadable=found.unreadable,
        answers=found.answers,
        counts=found.counts,
        certainty=found.by_certainty,
        templates=tuple(
            LabelledTemplate.model_validate(cluster, from_attributes=True) for cluster in found.largest(count, kind)
        ),
    )
    return json_text(document.model_dump(mode="json"))
