"""JUnit XML: a test case a call, a suite a trajectory, so that CI servers show a run as they show tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from replay.diagnosis import Diagnosis
from replay.records import FAILURES, Outcome
from replay.records.files import CallRow
from replay.records.finding import KnownFailure
from replay.reports import Selection, Spool
from replay.reports.call_text import answer_text, call_text, outcome_label
from replay.reports.scope import ReportScope, basis_lines, scope_of
from replay.runfile import Run
from replay.safety.redaction import Redactor
from replay.safety.text import cut, one_line, printable

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""
_MAX_ANSWER: Final = 4000


def render(run: Run, selection: Selection) -> Iterator[str]:
    """The calls of the selection as test cases: failed calls fail, inconclusive ones and known failures are skipped.

    How many there are stands before the first, so the suites wait in a file until all are counted.
    """
    scope = scope_of(run, selection)
    totals = {"tests": 0, "failures": 0, "skipped": 0, "errors": 0}
    with Spool() as suites:
        for number, diagnosis in enumerate(scope.diagnoses()):
            suite, counts = _suite(scope, diagnosis, () if number else basis_lines(scope))
            indent(suite, level=1)
            suites.add(f"  {tostring(suite, encoding='unicode')}\n")
            totals = {key: totals[key] + counts[key] for key in totals}
        root = Element("testsuites", {"name": "replay"} | {key: str(value) for key, value in totals.items()})
        opened = tostring(root, encoding="unicode", short_empty_elements=False).removesuffix("</testsuites>")
        yield f'<?xml version="1.0" encoding="utf-8"?>\n{opened}\n'
        yield from suites
    yield "</testsuites>\n"


def _suite(scope: ReportScope, diagnosis: Diagnosis, basis: Sequence[str]) -> tuple[Element, dict[str, int]]:
    """The suite of a trajectory, and how many of its cases have which result.

    Args:
        scope: of the report.
        diagnosis: of the trajectory.
        basis: what the whole report rests on; the schema has a place for it in suites alone, so the first one tells it.
    """
    context, rows = diagnosis.context, scope.rows(diagnosis)
    name = _text(one_line(f"{context.trajectory.model}: {context.trajectory.id}"))
    suite = Element("testsuite", name=name, file=_text(one_line(context.file)))
    if basis:
        properties = SubElement(suite, "properties")
        for line in basis:
            SubElement(properties, "property", name="replay.basis", value=_text(line))
    known = 0
    for row in rows:
        mark, noted = scope.mark(diagnosis, row)
        known += noted is not None
        _case(suite, diagnosis, row, name, mark, noted)
    counts = {
        "tests": len(rows),
        "failures": sum(row.outcome in FAILURES for row in rows) - known,
        "skipped": sum(row.outcome is Outcome.INCONCLUSIVE for row in rows) + known,
        "errors": 0,
    }
    suite.attrib.update({key: str(value) for key, value in counts.items()})
    suite.set("time", f"{sum(row.seconds or 0 for row in rows):.3f}")
    return suite, counts


def _case(
    suite: Element, diagnosis: Diagnosis, row: CallRow, suite_name: str, mark: str | None, known: KnownFailure | None
) -> None:
    label = _text(one_line(f"{row.call} {row.tool or '?'}", 200))
    case = SubElement(suite, "testcase", name=label, classname=suite_name, time=f"{row.seconds or 0:.3f}")
    if row.outcome is Outcome.SUCCESS:
        return
    kind = "skipped" if row.outcome is Outcome.INCONCLUSIVE or known else "failure"
    noted = f"known ({one_line(known.words, 300)}): " if known else ""
    shown = SubElement(case, kind, message=_text(one_line(f"{noted}{outcome_label(row)}: {row.message}", 700)))
    if kind == "failure":
        shown.set("type", row.rule)
    shown.text = _text(_body(diagnosis, row, mark))


def _body(diagnosis: Diagnosis, row: CallRow, mark: str | None) -> str:
    context = diagnosis.context
    parts = [f"{finding.sentence} {finding.suggestion or ''}".rstrip() for finding in diagnosis.calls.get(row.call, ())]
    parts += ["", f"rule: {row.rule} ({row.evidence}, {row.certainty})"]
    parts += [f"fingerprint: {mark}"] if mark else []
    parts += ["", "call:", call_text(context, row.call)]
    recorded, replayed = answer_text(context.calls[row.call].answer), answer_text(context.answers.get(row.call))
    parts += ["", "recorded:", cut(recorded, _MAX_ANSWER)] if recorded else []
    parts += ["", "replayed:", cut(replayed, _MAX_ANSWER)] if replayed else []
    return "\n".join(parts)


def _text(text: str) -> str:
    """Text that XML can hold, without secrets."""
    return _FORBIDDEN.sub("\ufffd", printable(Redactor().text(text)))
