"""Answers that are made to cost: read in linear time, and bounded."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult

MEGABYTES = 50_000_000
CALL = Call(position="s1c1", name="run", tool="run_command", arguments={"command": "cat a", "name": "x" * 50})


def _judged(text: str, *, flagged: bool | None = None, call: Call = CALL):
    blocks = ({"type": "text", "text": text},)
    answer = TextAnswer(text=text) if flagged is None else ToolResult(content=blocks, is_error=flagged)
    return judge_answer(call, answer, evidence="recorded")


@pytest.mark.parametrize("flagged", [None, True])
@pytest.mark.parametrize("line", ["row 7: all is well\n", '{"error": "row 7 is missing"},', "a: b\n", "(", "error "])
def test_an_answer_of_fifty_megabytes_is_judged_by_its_ends(line: str, flagged: bool | None) -> None:
    judged = _judged(line * (MEGABYTES // len(line)), flagged=flagged)
    assert judged.outcome in ("success", "invalid_arguments", "inconclusive", "not_found")
    assert len(judged.message) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "-rw-r--r-- 1 a b 12 .. " * 25,
        "a b c " * 99 + "\n" + "a b c " * 99,
        "\n".join("key . with * words " * 2 for _ in range(30)),
        "a:" * 300,
        "no " + "thing " * 200 + "x",
        "command not found " * 200,
        "exit code " * 2000,
        "'" * 500 + ": not found",
    ],
)
@pytest.mark.parametrize("tool", ["run_command", "get_item", "read_file"])
def test_no_expression_backtracks_on_lines_that_nearly_match(text: str, tool: str) -> None:
    call = CALL.model_copy(update={"tool": tool, "name": tool})
    for flagged in (None, False, True):
        assert _judged(text, flagged=flagged, call=call).rule


def test_a_batch_of_a_hundred_thousand_items_says_how_many_failed_in_few_words() -> None:
    call = CALL.model_copy(update={"tool": "import_rows", "name": "import_rows", "arguments": {}})
    row = '{"error": "no such column"}'
    failed = _judged("[" + ",".join([row] * 100_000) + "]", call=call)
    assert failed.outcome != "success"
    assert len(failed.message) < 1000
    some = _judged("[" + ",".join(['{"id": 1, "name": "lamp"}', *[row] * 1500]) + "]", call=call)
    assert (some.outcome, "partial" in some.findings) == ("success", True)


@pytest.mark.parametrize("value", [7, -1.5e300, True, "a b c", 10**400], ids=type)
@pytest.mark.parametrize("said", [(), ({"type": "text", "text": "7"},)], ids=len)
def test_a_bare_value_is_an_answer_like_any_other(value: object, said: tuple[dict[str, str], ...]) -> None:
    call = Call(position="s1c1", name="get_item", tool="get_item", arguments={"id": 7})
    answer = ToolResult(content=said, structured=value, is_error=False)
    assert judge_answer(call, answer, evidence="recorded").outcome == "success"
