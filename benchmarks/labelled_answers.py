"""The labelled answers of all sets, as one list of cases: where each comes from, its call, and the outcomes accepted.

- `../shared/data/recorded` and `recorded2`: recorded answers of published runs, beside the project.
- `tests/outcomes/answers.jsonl`: answers of live servers, and answers written by hand after what servers say.
- `tests/outcomes/recorded_answers.jsonl`: recorded answers, written before the rules were looked at.

The live set (`../shared/data/labelled`) needs its servers started and is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.outcomes import Classifier, Registry, judge_answer
from replay.outcomes.input_schema import schema_violations
from replay.records import Answer, Call, Judgement, SchemaViolation, TextAnswer, Tool, ToolResult
from replay.records.tool_name import read_name

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("REPLAY_SHARED", ROOT.parent / "shared")) / "data"
OWN = ROOT / "tests" / "outcomes"
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


class Case(NamedTuple):
    """One labelled call with its answer."""

    id: str
    source: str
    server: str
    call: Call
    answer: Answer
    accepted: tuple[str, ...]
    tool: Tool | None = None
    violations: tuple[SchemaViolation, ...] = ()
    recorded: bool = True

    @property
    def fails(self) -> bool:
        """Whether no label accepts a success."""
        return "success" not in self.accepted

    @property
    def succeeds(self) -> bool:
        """Whether a success is the only label."""
        return self.accepted == ("success",)

    def judged(self) -> Judgement:
        """What the program says, as `replay classify --offline` would without a fleet."""
        if self.recorded:
            classifier = Classifier(Registry())
            target = classifier.target(self.call)
            recorded = classifier.recorded(self.call, target)
            early = classifier.before_sending(self.call, recorded)
            return early or classifier.not_reissued(target, recorded)
        return judge_answer(self.call, self.answer, evidence="replay", tool=self.tool, violations=self.violations)


def all_cases() -> list[Case]:
    """Every labelled answer that is there, in a fixed order."""
    return [*_published("recorded"), *_published("recorded2"), *_live_answers(), *_blind_answers()]


def _published(name: str) -> Iterator[Case]:
    folder = SHARED / name
    if not (folder / "recorded.jsonl").exists():
        return
    labels: dict[str, list[str]] = json.loads((folder / "labels.json").read_text("utf-8"))
    described = folder / "sources.json"
    sources: dict[str, dict[str, str]] = json.loads(described.read_text("utf-8")) if described.exists() else {}
    for trajectory in open_file(folder / "recorded.jsonl", FileNames()).trajectories():
        call = trajectory.steps[0].calls[0]
        origin = sources.get(trajectory.id, {})
        server = origin.get("server") or _server_of(call)
        if call.answer is not None:
            accepted = tuple(labels[trajectory.id])
            yield Case(trajectory.id, origin.get("source", name), server, call, call.answer, accepted)


def _live_answers() -> Iterator[Case]:
    for number, line in enumerate((OWN / "answers.jsonl").read_text("utf-8").splitlines(), 1):
        case: dict[str, Any] = json.loads(line)
        described = case.get("described")
        tool = Tool(name=case["tool"], **described) if described is not None else None
        arguments, answer = case["arguments"], ANSWER.validate_python(case["answer"])
        violations = schema_violations(tool, arguments) if tool else ()
        name = f"{case['server']}/{case['tool']}"
        call = Call(position="s1c1", name=name, server=case["server"], tool=case["tool"], arguments=arguments)
        source = "our live servers" if case["made"].startswith("live") else "our answers by hand"
        accepted = tuple(case["accepted"])
        yield Case(
            f"a{number}", source, case["server"], call, answer, accepted, tool, tuple(violations), recorded=False
        )


def _blind_answers() -> Iterator[Case]:
    for number, line in enumerate((OWN / "recorded_answers.jsonl").read_text("utf-8").splitlines(), 1):
        case: dict[str, Any] = json.loads(line)
        answer = TextAnswer(text=case["text"])
        unreadable: dict[str, Any] = {"unreadable": "arguments", "raw": "{"} if case["arguments"] is None else {}
        call = Call(position="s1c1", name=case["name"], arguments=case["arguments"], answer=answer, **unreadable)
        yield Case(f"b{number}", "our blind answers", _server_of(call), call, answer, tuple(case["accepted"]))


def cases_of_kinds(name: str) -> Iterator[Case]:
    """Answers of many kinds in our own wording.

    Args:
        name: `kinds`; `host_sentences`, none of which is the model's fault; `api_envelopes` and `program_outputs`, as
            APIs and programs write them.
    """
    for number, line in enumerate((OWN / f"{name}.jsonl").read_text("utf-8").splitlines(), 1):
        case: dict[str, Any] = json.loads(line)
        blocks = ({"type": "text", "text": case["text"]},)
        flag = case["flag"]
        answer: Answer = TextAnswer(text=case["text"]) if flag is None else ToolResult(content=blocks, is_error=flag)
        call = Call(position="s1c1", name=case["tool"], tool=case["tool"], arguments=case["arguments"], answer=answer)
        yield Case(f"{name}{number}", f"our {name}", "srv", call, answer, tuple(case["accepted"]), recorded=False)


def _server_of(call: Call) -> str:
    name = call.name or ""
    return read_name(name, ()).server or name.split("-")[0].split("__")[0]
