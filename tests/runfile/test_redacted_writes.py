"""Whatever is written to a run file can be read back, and holds none of the secrets, whole or in part."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.records import (
    Answer,
    Call,
    CallResult,
    Outcome,
    RpcError,
    SchemaViolation,
    Source,
    Step,
    Task,
    TextAnswer,
    ToolResult,
    Trajectory,
    Verdict,
)
from replay.reports import FORMATS, Selection, render
from replay.runfile import Run
from replay.runfile.call_queries import call_rows, trajectory_rows
from replay.runfile.trajectory_queries import stored_trajectory
from replay.safety.redaction import Redactor
from tests.runs import call, failed, make_run, write_trajectory

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
KNOWN = 'pass"word\\7f3a9c51'
"""Secret values of a fleet: one to be escaped in JSON, and words and numbers of our own."""
FLEET_SECRETS = (KNOWN, "success", "replay", "recorded", "certain", "content", "123456", "result.answered", "arguments")
SNIPPETS = (
    TOKEN,
    KNOWN,
    "-----BEGIN PRIVATE KEY-----",
    "Authorization: Digest x",
    "Authorization: Bearer abcdefgh12345678",
    "https://user:hunter2secret@example.org",
    "success",
    "content",
    '"',
    "\\",
    "\x1b]52;c;aGk=\x07",
    "\u202e",
    "\x9b",
    "\x00",
)

texts = st.lists(
    st.one_of(st.sampled_from(SNIPPETS), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)), max_size=4
).map("".join)
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from([123456, 0.5, 1234567]), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(texts, values, max_size=3)
answers = st.one_of(
    st.builds(lambda text, more: ToolResult(content=({"type": "text", "text": text}, more)), texts, objects),
    st.builds(ToolResult, structured=values),
    st.builds(RpcError, code=st.just(123456), message=texts, data=values),
    st.builds(TextAnswer, text=texts),
)
verdicts = st.builds(
    Verdict,
    outcome=st.sampled_from(Outcome),
    rule=st.sampled_from(["result.answered", "success"]),
    evidence=st.sampled_from(["replay", "recorded"]),
    message=texts,
    difference=texts,
    seconds=st.just(123456.0),
    nearest=st.lists(texts, max_size=2).map(tuple),
    findings=st.just(("empty",)),
    trials=st.just({"success": 123456}),
    violations=st.lists(
        st.builds(SchemaViolation, pointer=texts, keyword=st.just("content"), message=texts, expected=values),
        max_size=2,
    ).map(tuple),
)


def trajectory_of(identifier: str, text: str, arguments: dict[str, Any], answer: Answer) -> Trajectory:
    one = Call(position="s1c1", name=text or None, arguments=arguments, answer=answer)
    return Trajectory(
        id=identifier,
        model=text,
        task=Task(question=text, type=text),
        source=Source(file="f.json", format="test"),
        steps=(Step(calls=(one,), text=text),),
        final_reply=text,
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(identifier=texts, text=texts, arguments=objects, answer=answers, verdict=verdicts)
def test_every_write_is_read_back(
    tmp_path: Path, identifier: str, text: str, arguments: dict[str, Any], answer: Answer, verdict: Verdict
) -> None:
    path = tmp_path / "run.db"
    trajectory = trajectory_of(identifier, text, arguments, answer)
    result = CallResult(
        call=trajectory.steps[0].calls[0], verdict=verdict, server="s", tool=text or "t", key="k", answer=answer
    )
    with Run.open(path, fresh=True, redactor=Redactor(FLEET_SECRETS)) as run:
        row = run.begin(trajectory, file="f.json", format="test", policy="p").row
        run.finish(row, trajectory, [result])
        assert run.is_done(trajectory, file="f.json", policy="p")
    with Run.read(path) as run:
        (read,) = call_rows(run)
        (listed,) = trajectory_rows(run)
        stored = stored_trajectory(run.connection, row)
        assert stored is not None
        assert type(run.stored_answer("k")) is type(answer)
    assert (read.outcome, read.rule, read.evidence) == (verdict.outcome, verdict.rule, verdict.evidence)
    assert (read.seconds, read.trials, read.findings) == (verdict.seconds, verdict.trials, verdict.findings)
    assert len(read.violations) == len(verdict.violations)
    assert len(read.nearest) == len(verdict.nearest)
    assert stored.record.id == listed.trajectory == read.trajectory
    assert len(stored.record.steps[0].calls[0].arguments or {}) == len(arguments)
    assert not (planted := [secret for secret in (TOKEN[:12], KNOWN) if secret in dumped(path)]), planted


def dumped(path: Path) -> str:
    """Every value of the run file as text; what is compressed is opened."""
    with sqlite3.connect(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for name in names for row in connection.execute(f'SELECT * FROM "{name}"')]
    connection.close()
    found = [value for row in rows for value in row]
    opened = [
        zlib.decompress(value).decode() if isinstance(value, bytes) and value[:1] == b"\x78" else value
        for value in found
        if isinstance(value, str | bytes)
    ]
    return "\n".join(
        _unescaped(value.decode("utf-8", "replace") if isinstance(value, bytes) else value) for value in opened
    )


def _unescaped(text: str) -> str:
    try:
        return "\n".join(_strings(json.loads(text)))
    except ValueError:
        return text


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *_strings([*value.values()])]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize("answer", ["-----BEGIN PRIVATE KEY-----", "Authorization: Digest x", f"no such key {TOKEN}"])
def test_a_run_with_such_an_answer_can_be_reported_in_every_format(tmp_path: Path, answer: str) -> None:
    calls = [failed("s/t", {"header": answer}, f"Error: {answer}"), call("s/t", {}, answer)]
    file = write_trajectory(tmp_path / "t.trajectory.json", calls)
    with Run.read(make_run(tmp_path / "run.db", [file])) as run:
        for form in FORMATS:
            assert TOKEN[:12] not in render(run, form)
            assert TOKEN[:12] not in render(run, form, Selection(call="t:s1c1"))


def test_no_part_of_a_token_is_left_where_a_text_is_cut(tmp_path: Path) -> None:
    """The token stands at many distances from the places where previews, messages and differences are cut."""
    fills = ["x" * (limit - room) + " " for limit in (60, 90, 240, 400) for room in (5, 20, 38)]
    calls = [failed("s/t", {"a": fill, "token": TOKEN}, f"Error: not found: {fill}{TOKEN}") for fill in fills]
    calls += [call(f"s/{fill}{TOKEN}", {fill + TOKEN: 1}, fill + TOKEN) for fill in fills]
    calls += [{"name": None, "unreadable": "call", "raw": fill + TOKEN} for fill in fills]
    task = {"type": TOKEN, "question": fills[3] + TOKEN}
    file = write_trajectory(tmp_path / "t.trajectory.json", calls, id=TOKEN, task=task)
    path = make_run(tmp_path / "run.db", [file])
    assert TOKEN[:8] not in dumped(path)
    with Run.read(path) as run:
        for form in ("markdown", "json", "csv"):
            assert TOKEN[:8] not in render(run, form)


def test_trajectories_that_differ_in_a_secret_alone_stay_two(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    answer = TextAnswer(text="ok")
    pair = [trajectory_of(f"session {TOKEN}{end}", "", {}, answer) for end in ("a", "b")]
    verdict = Verdict(outcome=Outcome.SUCCESS, rule="r", evidence="recorded", message="m")
    with Run.open(path) as run:
        for one in pair:
            row = run.begin(one, file="f.json", format="test", policy="p").row
            run.finish(row, one, [CallResult(call=one.steps[0].calls[0], verdict=verdict)])
        assert all(run.begin(one, file="f.json", format="test", policy="p").done for one in pair)
        names = {row.trajectory for row in trajectory_rows(run)}
    assert len(names) == 2
    assert all(name.startswith("session [REDACTED]-") for name in names)
