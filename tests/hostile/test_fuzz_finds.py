"""What fuzzing found, each by its cause; and a short fuzz of every door, on a fixed chance."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from replay.dag.documents import resolve
from replay.errors import FleetError, FormatError
from replay.formats import open_file
from replay.formats.results_file import ResultsFile
from replay.formats.sources import InputFile
from replay.interpreter import Fleet
from replay.json_values import parse_json
from replay.outcomes import judge_answer
from replay.recorder.assembly import assemble
from replay.recorder.recording import entry_of
from replay.records import Call, Trajectory
from replay.records.trajectory import ToolResult
from tests.formats.samples import SAMPLES
from tests.hostile.fuzz_doors import DOORS, read_results, seeds
from tests.hostile.mutation import Mutator, Seed

HUGE = 10**400
CALL = {"id": "1", "function": {"name": "s/t", "arguments": "{}"}}
ANSWER = {"role": "tool", "tool_call_id": "1", "content": "x"}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def chat(*messages: Any) -> bytes:
    return json.dumps(
        [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": [CALL]}, *messages]
    ).encode()


def opened(data: bytes) -> ResultsFile:
    return open_file(InputFile("runs/input.json", lambda: io.BytesIO(data), lambda: len(data)))


def read(data: bytes) -> list[Trajectory]:
    """The trajectories, which can be written down."""
    found = list(opened(data).trajectories())
    for trajectory in found:
        trajectory.model_dump_json()
    return found


def changed(name: str, change: Any) -> bytes:
    sample = json.loads(json.dumps(SAMPLES[name]))
    change(sample)
    return json.dumps(sample).encode()


@pytest.mark.parametrize("role", [[], {}, [["tool"]], 5, None])
def test_a_message_whose_role_is_not_text_is_passed_over(role: Any) -> None:
    [trajectory] = read(chat({"role": role, "content": "?"}, ANSWER))
    assert [call.name for call in trajectory.calls()] == ["s/t"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("atif", lambda sample: sample.update(extra={"reward": HUGE})),
        ("inspect", lambda sample: sample["samples"][0].update(scores={"match": {"value": HUGE}})),
        ("google-adk", lambda sample: sample["events"][1].update(timestamp=HUGE)),
        ("langfuse", lambda sample: sample["trace"].update(scores=[{"name": "a", "value": HUGE}])),
        ("mcp-bench", lambda sample: sample["task_run_results"]["m"][0].update(evaluation={"task_completion": HUGE})),
    ],
)
def test_a_number_beyond_counting_costs_no_call(name: str, change: Any) -> None:
    before = sum(len(list(trajectory.calls())) for trajectory in read(json.dumps(SAMPLES[name]).encode()))
    assert sum(len(list(trajectory.calls())) for trajectory in read(changed(name, change))) == before


@pytest.mark.parametrize("arguments", ['{"a": "\\ud800"}', '{"\\udfff": 1}', '{"a": ' + "9" * 5000 + "}"])
def test_json_in_a_text_is_read_as_the_json_around_it_is(arguments: str) -> None:
    call = {"id": "1", "function": {"name": "s/t", "arguments": arguments}}
    [trajectory] = read(json.dumps([{"role": "assistant", "tool_calls": [call]}]).encode())
    [read_call] = trajectory.calls()
    assert read_call.unreadable is None


def test_bytes_that_spell_half_a_surrogate_pair_are_not_utf8() -> None:
    line = json.dumps({"messages": json.loads(chat(ANSWER))}).encode()
    file = opened(line + b"\n" + line.replace(b'"content": "x"', b'"content": "\xed\xa0\x80"') + b"\n" + line)
    assert len(file.ids) == 2
    assert any("not UTF-8 text" in warning for warning in file.warnings)


@pytest.mark.parametrize("text", ["\\ud800", "x"])
@pytest.mark.parametrize("levels", [150, 450, 900])
def test_depth_is_a_sentence_and_never_a_python_error(text: str, levels: int) -> None:
    nested = json.dumps(deep(levels)).replace("1", f'"{text}"')
    data = changed("inspect", lambda sample: sample["samples"][0]["scores"]["match"].update(value="@"))
    refusals = []
    try:
        read(data.replace(b'"@"', nested.encode()))
    except FormatError as error:
        refusals.append(str(error))
    assert all("nested too deeply" in refusal for refusal in refusals)


def test_depth_is_bounded_wherever_json_of_others_is_kept() -> None:
    schema = {"type": "object", "properties": deep(150)}
    tools = [{"name": "t", "inputSchema": schema}]
    data = changed("inspect", lambda sample: sample["samples"][0].update(scores={"a": {"value": deep(240)}}))
    assert len(read(data)) == 2
    event = {"event": "model", "tools": tools}
    assert len(read(changed("inspect", lambda sample: sample["samples"][0].update(events=[event])))) == 2


def test_broken_json_behind_an_integer_of_5000_digits_is_told_with_its_place() -> None:
    data = b'[{"id": "a", "steps": [], "n": ' + b"9" * 5000 + b', "x": "\\q"}]'
    with pytest.raises(FormatError, match=r"line 1, column \d+: broken JSON"):
        opened(data)


@pytest.mark.parametrize("status", ["9" * 5000, "²", "--5", "-", "404"])
def test_a_status_that_is_not_a_number_is_none(status: str) -> None:
    text = json.dumps({"error": "not found", "status": status})
    answer = ToolResult(content=({"type": "text", "text": text},))
    assert (
        judge_answer(Call(position="s1c1", name="s/t", arguments={}), answer, evidence="replay").outcome == "not_found"
    )


def test_an_index_of_5000_digits_names_nothing() -> None:
    with pytest.raises(LookupError):
        resolve([1, 2], "/" + "9" * 5000)


def test_a_recording_whose_times_are_beyond_counting_keeps_its_other_calls() -> None:
    def call(number: int, moment: int) -> dict[str, Any]:
        return {"event": "call", "t": moment, "n": number, "message": {"id": number, "params": {"name": "t"}}}

    trajectory = assemble([{"id": "a"}, call(1, HUGE), call(2, 1)], "a.trajectory.json")
    assert [found.name for found in trajectory.calls()] == ["t"]


@pytest.mark.parametrize("name", [{"a": []}, [1], 5, None])
def test_a_codex_call_of_a_server_whose_name_is_not_text_is_unreadable(name: Any) -> None:
    payload = {"type": "function_call", "namespace": "mcp__s", "name": name, "arguments": "{}", "call_id": "1"}
    lines = [{"type": "session_meta", "payload": {"id": "a"}}, {"type": "response_item", "payload": payload}]
    [trajectory] = read(
        b"\n".join(json.dumps({"timestamp": "2026-01-01T00:00:00Z", **line}).encode() for line in lines)
    )
    [call] = trajectory.calls()
    assert (call.unreadable, call.server, call.tool) == ("name", "s", None)


def test_a_field_with_a_line_end_in_its_name_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "servers.yaml"
    path.write_text('{"version": 1, "servers": {"a": {"command": "x", "e\\nv": {}}}}')
    with pytest.raises(FleetError, match=r'^[^\n]*servers\.a\.e v: there is no field "e v"; did you mean "env"\?$'):
        Fleet.load(path)


def test_half_of_a_surrogate_pair_between_the_values_of_a_recording_costs_one_entry() -> None:
    broken = b'{"event": "note", "t": \xed\xa0\x80, "message": "x"}\n'
    with pytest.raises(ValueError, match=r"(?i)expect(ed|ing) value"):
        parse_json(broken.decode("utf-8", "surrogatepass"))
    assert entry_of(broken) is None
    assert entry_of(b'{"event": "note", "message": "\xed\xa0\x80"}\n') == {"event": "note", "message": "\ufffd"}


@pytest.mark.parametrize("door", DOORS)
def test_nothing_near_a_real_file_is_an_error_of_its_reader(door: str, tmp_path: Path) -> None:
    from tests.hostile.fuzz import outcome_of

    dice = random.Random(16)
    mutator = Mutator(seeds(door, dice, corpus=None), dice)
    for _ in range(25):
        data = mutator.input()
        assert not outcome_of(DOORS[door], data, tmp_path / "input.json").startswith("failed"), data


def test_a_mutation_changes_a_copy() -> None:
    seed = Seed.of(chat(ANSWER))
    before = json.dumps(seed.values)
    mutator = Mutator([seed], random.Random(1))
    inputs = {mutator.input() for _ in range(300)}
    assert len(inputs) > 200
    assert json.dumps(seed.values) == before


def test_what_is_read_is_told_in_a_few_words() -> None:
    assert read_results(chat(ANSWER), Path()).startswith("openai-chat 1 None text:1")
