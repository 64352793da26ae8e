"""Writes schemas/: the JSON Schema of every file that we read or write, generated from the records.

Run by `make schemas`; a test fails when one is stale.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from replay.interpreter import Fleet
from replay.records.alignment import AlignmentDocument
from replay.records.audit import Audit
from replay.records.chart import ChartDocument
from replay.records.comparison import ModelComparison
from replay.records.files import CassetteAnswer, CassetteHeader, RunDocument, TrajectoryFile
from replay.records.finding import KnownFile
from replay.records.rating import JudgeReport
from replay.reports.json_ import (
    CheckedServers,
    DiffDocument,
    FailureList,
    HistoryDocument,
    ListedServers,
    ReportDocument,
    ShownFile,
    ShownRun,
    ShownTrajectory,
    SurveyDocument,
    ToolsDocument,
)

SCHEMAS = Path(__file__).parents[1] / "schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"

DOCUMENTS: dict[str, Any] = {
    "trajectory": TrajectoryFile,
    "run": RunDocument,
    "alignment": AlignmentDocument,
    "report": ReportDocument,
    "diff": DiffDocument,
    "compare": ModelComparison,
    "audit": Audit,
    "judge": JudgeReport,
    "show": ShownTrajectory | ShownFile | ShownRun,
    "history": HistoryDocument,
    "known": KnownFile,
    "known-list": FailureList,
    "label": SurveyDocument,
    "servers": ListedServers | CheckedServers,
    "figure": ChartDocument,
    "tools": ToolsDocument,
    "cassette": CassetteHeader | CassetteAnswer,
    "fleet": Fleet,
}
"""File name without its ending -> what it describes. A cassette's schema is that of one of its lines."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file."""
    mode = "validation" if name in {"fleet", "known", "servers"} else "serialization"
    schema = TypeAdapter(DOCUMENTS[name]).json_schema(mode=mode)  # type: ignore[arg-type]
    return {"$schema": _DRAFT, "$id": f"{name}.schema.json", **schema}


def text_of(name: str) -> str:
    """The schema as it stands in `schemas/`."""
    return json.dumps(schema_of(name), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def overview() -> str:
    """The page that lists the schemas."""
    lines = ["# Schemas", "", "Of every file that is read or written, and of all that verbs print for machines.", ""]
    for name in DOCUMENTS:
        schema = schema_of(name)
        parts = [schema["$defs"][part["$ref"].rpartition("/")[2]] for part in schema.get("anyOf", ())] or [schema]
        what = " ".join(part["description"].partition("\n")[0] for part in parts)
        lines.append(f"- [{name}.schema.json]({name}.schema.json): {what}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all schemas."""
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for name in DOCUMENTS:
        (SCHEMAS / f"{name}.schema.json").write_text(text_of(name), "utf-8")
    (SCHEMAS / "README.md").write_text(overview(), "utf-8")


if __name__ == "__main__":
    main()
