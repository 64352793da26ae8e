"""JSON answers once all that says nothing is taken out: payload or an error, under any wrapper and in batches."""

from __future__ import annotations

import json

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult

ERROR = {"error": "no item with this id", "status": 404}


def _judge(value, tool="get_item", **arguments):
    text = value if isinstance(value, str) else json.dumps(value)
    call = Call(position="s1c1", name=tool, tool=tool, arguments=arguments or {"id": "7"})
    return judge_answer(call, TextAnswer(text=text), evidence="recorded", listed=False)


def _fastmcp(value):
    return {"result": json.dumps(value)}


def _record(value):
    return {"tool": "get_item", "server": "shop", "arguments": {"id": "7"}, "duration_ms": 12, "output": value}


def _block(value):
    return {"content": [{"type": "text", "text": json.dumps(value)}], "isError": False}


def _rpc(value):
    return {"jsonrpc": "2.0", "id": 3, "result": value}


def _events(value):
    return f"event: message\ndata: {json.dumps(value)}\n\n"


WRAPPERS = [_fastmcp, _record, _block, lambda value: _rpc(_block(value)), _events, repr, json.dumps]


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("again", [lambda value: value, _fastmcp, lambda value: _record(_block(value))])
def test_an_error_is_one_under_any_wrapper_and_data_is_data(wrap, again):
    assert _judge(wrap(again(ERROR))).outcome == "not_found"
    assert _judge(wrap(again({"id": 7, "name": "lamp", "error": None}))).outcome == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"error": "item 7 not found", "id": "7", "data": None, "items": [], "count": 0, "request_id": "r1"},
        {"code": 404, "message": "no such item", "timestamp": "2025-01-01", "docs": "https://a.example"},
        {"status": "error", "detail": "item does not exist", "correlationId": "c9"},
        {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "diagnostics": "item not found"}]},
    ],
)
def test_what_repeats_the_call_is_empty_or_bookkeeping_is_no_payload(value):
    assert _judge(value).outcome == "not_found"


@pytest.mark.parametrize(
    "value",
    [
        {"id": 3, "status": "failed", "error": "exit 1", "branch": "main"},
        {"name": "build", "runs": [{"error": "timeout", "id": 1}, {"error": "timeout", "id": 2}], "total": 2},
        {"valid": False, "errors": ["unexpected end"]},
        {"reviews": [{"text": "It failed, access denied at the door"}], "name": "404 bar"},
    ],
)
def test_a_record_that_tells_of_a_failure_is_payload(value):
    assert _judge(value).outcome == "success"


@pytest.mark.parametrize(
    ("value", "outcome", "findings"),
    [
        ([{"status": "error", "error": "name is required"}] * 3, "invalid_arguments", ()),
        ([{"id": 1}, {"status": "error", "error": "name is required"}], "success", ("partial",)),
        ({"results": [{"error": "bad date"}, {"error": "bad date"}]}, "inconclusive", ()),
        ({"created": False, "reason": "the name exists already"}, "invalid_arguments", ()),
        ({"accepted": 0, "rejected": [{"reason": "score must be below 5"}]}, "invalid_arguments", ()),
        ({"imported": 0, "errors": ["row 1: invalid date"]}, "invalid_arguments", ()),
        ({"imported": 2, "failed": 1}, "success", ("partial",)),
        ({"results": [{"ok": False, "error": "row 1 not found"}] * 2, "failed": 2, "total": 2}, "not_found", ()),
        ({"results": [{"id": 1}, {"ok": False, "error": "row 2 not found"}], "failed": 1}, "success", ("partial",)),
        ({"users": [{"id": 1, "error": "none"}], "total": 1}, "success", ()),
        ("Imported 2 rows, 1 failed", "success", ("partial",)),
        ({"data": {"user": {"id": 1}}, "errors": [{"message": "no access to mail"}]}, "success", ("partial",)),
        ({"data": {"user": None}, "errors": [{"message": "user not found"}]}, "not_found", ()),
    ],
)
def test_a_batch_fails_where_all_of_it_fails_and_is_partial_where_some_does(value, outcome, findings):
    judged = _judge(value, "import_rows", rows=[1, 2, 3])
    assert (str(judged.outcome), judged.findings) == (outcome, findings)


@pytest.mark.parametrize(
    ("tool", "arguments", "value", "outcome"),
    [
        (
            "reserve",
            {"items": [{"id": "a7"}]},
            {"reserved": [], "not_reserved": [{"id": "a7", "why": "is gone"}]},
            "in",
        ),
        ("reserve", {"items": [{"id": "a7"}]}, {"reserved": [{"id": "a7"}], "not_reserved": []}, "success"),
        (
            "cancel_trip",
            {"trip": "t7"},
            {"cancelled": False, "why": "it must be asked a day before"},
            "invalid_arguments",
        ),
        ("cancel_trip", {"trip": "t7"}, {"cancelled": True, "why": "the road is closed"}, "success"),
        ("open_door", {"floor": 90}, {"code": 422, "message": "No", "data": None, "f": {"floor": "must be < 9"}}, "in"),
        (
            "close_doors",
            {"ids": ["d1"]},
            {"code": 207, "message": "M", "data": {"of": 1, "r": [{"id": "d1", "http": 404}]}},
            "not_found",
        ),
        ("check_doors", {"ids": ["d1"]}, {"results": [{"id": "d1", "http": 404}]}, "success"),
        (
            "buy",
            {"sku": "s7"},
            {"order_id": None, "state": "REJECTED", "lines": [{"sku": "s7", "note": "2 left"}]},
            "in",
        ),
        ("buy", {"sku": "s7"}, {"ok": False, "error": "no_such_article"}, "not_found"),
        ("buy", {"sku": "s7"}, {"error": "shop works, shop_id is missing"}, "invalid_arguments"),
        ("play", {"id": "s7"}, {"error": "no copy of 'Cairns' on the disk"}, "not_found"),
        ("play", {"id": "s7"}, "NAK/04 S7 NO RECORD", "not_found"),
        ("play", {"id": "s7"}, "**E1042** The film has been wiped.", "in"),
        ("rate", {"id": "s7", "note": "no story found"}, "Ann gives 'Rejected!' a 3. Note: no story found", "success"),
        (
            "create_note",
            {"labels": ["new"]},
            {"locked": False, "comments": 0, "labels": [{"name": "new", "description": "For a beginner"}]},
            "success",
        ),
        ("mend", {"ids": ["b-12"]}, {"mended": 0, "not_mended": 1, "notes": [], "problems": ["b-12: worn out"]}, "in"),
        (
            "verify_ids",
            {"ids": ["b-12"]},
            {"checked": 0, "items": [{"id": "b-12", "result": "unknown_bike"}]},
            "not_found",
        ),
        ("mend", {"bike": 12}, "There's no bike #12.", "not_found"),
        ("mend", {"bike": 12}, {"results": {"error": "the torch went out"}, "meta_data": {"took_ms": 4}}, "in"),
        ("mend", {"bike": 12}, {"results": None, "metadata": {"is_error": True, "message": "torch out"}}, "in"),
        ("mend", {"bike": 12}, {"error": "자전거가 없음", "허용값": {"bike": [1, 2]}}, "in"),
        (
            "mend",
            {"bike": 12},
            {"error": "one torch is out", "results": [{"bike": 12, "done": "2025-09-12"}]},
            "success",
        ),
        ("mend", {"bike": 12}, {"error": "torch out", "hint": "bike must be known, and a torch lit"}, "inconclusive"),
        ("mend", {"bike": 12}, "Missing required module for the torch", "inconclusive"),
        ("mend", {"bike": 12}, "No active workshop. Open a workshop first, then mend.", "invalid_arguments"),
        ("tune", {"action": "oilchange"}, "Unknown action: oilchange", "invalid_arguments"),
        ("recall", {"bike": 12}, "Error: the graph is off, set BIKES_GRAPH=1 to enable it.", "inconclusive"),
        ("recall", {"bike": 12}, "Error: recall is off, the server was started without --recall.", "inconclusive"),
        ("check_bill", {"bill": "<a/>"}, "Error validating bill: HTTP 503 - upstream", "inconclusive"),
        ("release_bike", {"bike": "b12"}, "Released b12 (it had already stopped).", "success"),
        ("get_labels", {"bike": "b12"}, "No labels found in 'b12'.", "success"),
        ("get_label", {"bike": "b12", "label": "S1"}, "No label 'S1' found in 'b12'", "not_found"),
        ("mend", {"bike": 12}, {"code": "torch_out", "message": "The torch went out again.", "retryable": True}, "in"),
        ("mend", {"bike": 12}, {"code": "bike_created", "message": "The bike is as new."}, "success"),
        ("mend", {"bike": 12}, "Unable to serialize unknown type: <Model: Bike>", "inconclusive"),
        (
            "get_bike",
            {"bike": 12},
            {"status": "FAILED", "message": "bike not found.", "next_step": {"a": "ask"}},
            "not_",
        ),
        ("mend", {"bike": 12}, "Bicicleta no encontrada", "not_found"),
        (
            "mend",
            {"bike": 12},
            "Error code: 400 - your credit balance is too low to reach the workshop",
            "inconclusive",
        ),
        (
            "search_bikes",
            {"query": "red"},
            "Please verify your email at https://bikes.example to search",
            "inconclusive",
        ),
        ("mend", {"bike": 12}, "Error: repairs are not configured, WORKSHOP_TOKEN is missing", "inconclusive"),
        (
            "mend",
            {"bikes": ["b1", "b2"]},
            {"mended": 0, "results": [{"id": i, "error": "The workshop did not respond (timeout)"} for i in "ab"]},
            "inconclusive",
        ),
        (
            "mend",
            {"bike": 12},
            {"success": False, "error": "That is all for a day. Try again tomorrow."},
            "inconclusive",
        ),
        (
            "lend",
            {"bike": 12},
            "Error: Ann already has another bike then. Please choose another day.",
            "invalid_arguments",
        ),
        ("lend", {"bike": 12}, {"success": False, "error": "All places have been filled."}, "invalid_arguments"),
        ("mend", {"bike": 12}, {"success": False, "error": "It was changed in the meantime (version 2)."}, "invalid"),
        (
            "remove",
            {"bike": 12},
            "This removes the bike for good. Please call again with sure=true.",
            "invalid_arguments",
        ),
        ("mend", {"handle": "b12"}, "Error: unknown handle (shed=3)", "not_found"),
        ("mend", {"bike": "b12"}, "Không tìm thấy xe", "not_found"),
        ("mend", {"bike": "b12"}, "Error: SHED_KEY environment variable bulunamadı", "inconclusive"),
        ("mend", {"bike": "b12"}, "Error: Tool is not permitted in this session", "inconclusive"),
        ("mend", {"bike": "b12"}, "Error: device_offline: shed camera", "inconclusive"),
        ("get_steps", {"topic": "brakes"}, "1. Open the cable. 2. Do not bend it. 3. Close it.", "success"),
        ("stop_engine", {"id": 12}, "Fehler beim Stoppen: Drehzahl", "inconclusive"),
        ("run_query", {"sql": "select 1"}, [{"error": "torch out"}], "inconclusive"),
        ("run_query", {"sql": "select error from log"}, [{"error": "torch out"}], "success"),
        ("mend", {"bike": 12}, "Tours are a paid feature: set BIKES_TOKEN in the env of this server.", "inconclusive"),
        ("plan", {"day": "2025-09-12"}, "We are open in May; 2025-09-12 is not in it. Plan unchanged.", "in"),
    ],
)
def test_what_a_call_was_refused_is_no_payload(tool, arguments, value, outcome):
    assert _judge(value, tool, **arguments).outcome.startswith(outcome)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("An error occurred invoking 'mend': 'b12' is not a frame: use a letter A to G.", "invalid_arguments"),
        ("An error occurred invoking 'mend'.", "inconclusive"),
        ("unknown_bike: b12", "not_found"),
        ('{"code": "version_conflict", "message": "version=3"}', "invalid_arguments"),
    ],
)
def test_a_flagged_answer_is_judged_by_the_cause_inside_its_frame(text, outcome):
    call = Call(position="s1c1", name="mend", tool="mend", arguments={"bike": "b12"})
    answer = ToolResult(content=({"type": "text", "text": text},), is_error=True)
    assert judge_answer(call, answer, evidence="recorded", listed=False).outcome == outcome


@pytest.mark.parametrize(
    ("value", "certainty"),
    [
        ({"id": 7, "name": "lamp"}, "certain"),
        ({"success": True}, "certain"),
        ("Successfully renamed the item.", "likely"),
        ("lamp, 12 EUR\ndesk, 90 EUR\nchair, 40 EUR", "likely"),
        ("The blue one", "fallback"),
    ],
)
def test_a_success_is_as_certain_as_what_shows_it(value, certainty):
    judged = _judge(value, "choose", q="x")
    assert (str(judged.outcome), judged.certainty) == ("success", certainty)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"result":' * 10_000 + '"x"' + "}" * 10_000,
        "data: {}\n\n" * 100_000,
        '"' * 100_000,
        "Error: not found " * 300_000,
    ],
)
def test_what_is_deep_or_long_is_judged(text):
    assert _judge(text).rule


def test_a_batch_of_a_hundred_thousand_failures_is_one():
    assert _judge([{"status": "error", "error": f"row {n} is invalid"} for n in range(100_000)]).outcome != "success"


@pytest.mark.parametrize(
    ("value", "certainty"),
    [
        ({"id": 7, "name": "lamp"}, "certain"),
        ({"id": 7, "name": "lamp", "log": "started\nError: cannot reach the shop"}, "fallback"),
        ({"id": 7, "rows": [{"state": "the connection was refused"}]}, "fallback"),
        ([], "certain"),
        ({"rows": [], "total": 0, "warning": "could not reach two of five shards"}, "likely"),
        ("No lamps found", "likely"),
        ("Fitted: slope 2.1, standard error 0.03, R2 0.98.", "likely"),
    ],
)
def test_a_success_is_certain_by_what_it_brings_and_not_where_anything_in_it_complains(value, certainty):
    judged = _judge(value, "get_lamp", id=7)
    assert (judged.outcome, judged.certainty) == ("success", certainty)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("no item sofa", "not_found"),
        ("unknown item: sofa", "not_found"),
        ("unknown lamp: sofa", "not_found"),
        ("No such item: sofa", "not_found"),
        ("no permission sofa", None),
    ],
)
def test_that_there_is_none_of_the_value_asked_for_is_not_found(error, outcome):
    judged = _judge({"ok": False, "error": error}, "price_of", item="sofa")
    assert (str(judged.outcome) == "not_found") is (outcome == "not_found")


def test_records_too_long_to_be_read_whole_are_data_and_no_sentences():
    records = [{"title": "Mend it with_tools, not invalid", "body": "must fail " * 2000} for _ in range(6)]

    judged = _judge(records, tool="list_requests", state="open")

    assert (judged.outcome, judged.rule) == ("success", "success.structured")


def test_one_text_that_an_sdk_repeats_as_structured_content_is_judged_as_the_text():
    text = "No berth 12: berths must be between 1 and 9"
    call = Call(position="s1c1", name="book", tool="book", arguments={"berth": 12})
    answer = ToolResult(content=({"type": "text", "text": text},), is_error=False, structured={"result": text})

    assert judge_answer(call, answer, evidence="replay").outcome == "invalid_arguments"


def test_a_failure_is_told_by_the_line_that_ends_a_traceback():
    text = "NaN 17 NaN\nTraceback (most recent call last):\n  File 'a.py', line 3\n    x['id']\nKeyError: 'id'"
    call = Call(position="s1c1", name="python", tool="python", arguments={"code": "x['id']"})

    judged = judge_answer(call, TextAnswer(text=f"{text}\nexit code: 1"), evidence="recorded")

    assert judged.rule == "program.failed"
    assert "KeyError: 'id'" in judged.message
    assert "NaN" not in judged.message


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"lent": 0, "kept_back": {"bk-a7": "no book with this number", "bk-b9": "no such book"}}, "not_found"),
        (
            {
                "lent": [],
                "kept_back": [{"book": "bk-a7", "reason": "no such book"}, {"book": "bk-b9", "why": "no such book"}],
            },
            "not_found",
        ),
        (
            {"lent": 0, "kept_back": {"bk-a7": "stands at the binder's, from there to the shelf", "bk-b9": "as bk-a7"}},
            "invalid_arguments",
        ),
        ({"lent": 1, "kept_back": {"bk-b9": "no book with this number"}}, "success"),
        (
            {"books": [{"book": "bk-a7", "reason": "asked for by Ada"}, {"book": "bk-b9", "reason": "a gift"}]},
            "success",
        ),
        ({"warnings_seen": 0, "titles": {"bk-a7": "On the shelf by the door"}}, "success"),
    ],
)
def test_a_batch_of_which_each_item_of_the_call_was_left_out_for_a_reason_failed(value, outcome):
    judged = _judge(value, "lend_books", books=["bk-a7", "bk-b9"])
    assert judged.outcome == outcome, judged.rule


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"answer": "no", "code": "TAKEN", "detail": "b2 already exists"}, "invalid_arguments"),
        ({"answer": "no", "code": "STRANGER", "detail": "there is no member 7"}, "not_found"),
        ({"problem": "id must be below 5"}, "invalid_arguments"),
        ({"ack": False, "line": "device is busy"}, "inconclusive"),
        ({"code": "EURO", "name": "Euro", "description": "the money of many countries"}, "success"),
        ({"code": "DONE", "detail": "all five were written"}, "success"),
        ({"problem": "two trains meet", "answer": 4}, "success"),
    ],
)
def test_a_word_as_code_a_problem_and_a_refused_acknowledgement_are_errors(value, outcome):
    assert _judge(value, "book_slot").outcome == outcome


@pytest.mark.parametrize(
    ("value", "certainty"),
    [
        ({"mood": "sour", "note": "come again on some other day"}, "fallback"),
        ({"shelf": "c", "open": False}, "fallback"),
        ({"shelf": "c", "boxes": 4}, "certain"),
        ({"shelf": "c", "booking": "bk-4711"}, "certain"),
        ({"success": True, "note": "come again on some other day"}, "certain"),
        ([{"note": "come again on some other day"}, {"note": "the second of two"}], "certain"),
    ],
)
def test_a_few_words_that_may_be_a_refusal_are_no_certain_success(value, certainty):
    judged = _judge(value, "book_slot")
    assert (judged.outcome, judged.certainty) == ("success", certainty)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"httpStatus": 207, "requestId": "r-9", "data": {"updatedCount": 0, "failedCount": 1, "results": [
            {"id": "x", "status": 404, "error": {"code": "NO_ITEM", "message": "No such item"}}]}}, "not_found"),
        ({"statusCode": 200, "job": {"jobId": "j-7", "state": "FAILED", "done": True, "error": {
            "code": "GONE", "message": "the item does not exist"}}, "rows": None}, "not_found"),
        ({"httpStatus": 200, "requestId": "r-9", "data": {"id": "x", "name": "lamp"}}, "success"),
        ({"answer": "held back", "id": "7", "because": "id must be below 5", "mark": "D1"}, "invalid_arguments"),
        ({"approved": True, "because": "it fits the rules"}, "success"),
        ({"rows": 4, "why": "asked for by Ada"}, "success"),
    ],
)  # fmt: skip
def test_statuses_and_ids_of_requests_wrap_and_a_reason_alone_is_one_of_a_refusal(value, outcome):
    judged = _judge(value, "update_item")
    assert judged.outcome == outcome, judged.rule


def test_an_object_that_holds_the_items_of_the_call_beside_nothing_done_is_a_failure_of_a_tool_that_acts():
    value = {"poured": 0, "gone": [], "never_heard_of": ["ambrosia"]}
    assert _judge(value, "clear_out", names=["ambrosia"]).outcome != "success"
    assert _judge(value, "find_names", names=["ambrosia"]).outcome == "success"


def test_a_tool_whose_own_verb_happened_to_nothing_and_that_says_why_for_each_has_failed():
    value = {"matchedCount": 2, "expiredCount": 0, "skipped": [{"id": "p1", "reason": "LOCKED"}] * 2}
    assert _judge(value, "expire_permits", before="2025").outcome != "success"
    assert _judge({**value, "expiredCount": 1}, "expire_permits", before="2025").outcome == "success"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"dry_run": True, "discarded": 0, "would_discard": ["l-1", "l-2"], "unknown": []}, "success"),
        ({"discarded": 0, "kept": {}, "unknown": ["l-1", "l-2"]}, "not_found"),
        ("0 of 2 discarded.\n l-1: no such lot\n l-2: no such lot", "not_found"),
        ("0 von 2 weg.\n l-1: nicht vorhanden\n l-2: nicht vorhanden", "not_found"),
        ("0 of 30 seeds of lot l-1 were left", "success"),
        ("1 of 2 discarded.\n l-2: no such lot", "success"),
    ],
)
def test_nothing_done_with_the_items_of_the_call_is_a_failure_and_a_dry_run_is_none(value, outcome):
    assert _judge(value, "discard_lots", lots=["l-1", "l-2"]).outcome == outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"rc": 8, "text": "FIELD lot MUST BE NUMERIC", "row": None}, "invalid_arguments"),
        ({"rc": 0, "text": "ALL WAS WRITTEN WELL", "row": None}, "success"),
        ({"rc": 8, "text": "eight rows were counted", "rows": [1, 2]}, "success"),
        ("RC=04 lot 7 NOT FOUND", "not_found"),
    ],
)
def test_a_return_code_that_is_not_zero_is_an_error_where_only_a_sentence_stands_beside_it(value, outcome):
    assert _judge(value, "update_lot", lot="7").outcome == outcome


def test_objects_one_below_the_other_are_a_batch():
    failed = '{\n  "row": "row-7",\n  "error": "Missing required keys (sheet, range)"\n}'
    assert _judge(f"{failed}\n{failed}", "get_rows", rows=["row-7"]).outcome == "invalid_arguments"
    assert (
        _judge(failed + '\n{\n  "row": "row-8",\n  "values": [1]\n}', "get_rows", rows=["row-7"]).outcome == "success"
    )


@pytest.mark.parametrize(
    ("tool", "value", "outcome"),
    [
        ("get_sheet", {"found": False}, "not_found"),
        ("get_sheet", {"found": False, "id": "7", "suggestion": "list them first"}, "not_found"),
        ("get_sheet", {"found": False, "nearest": [{"id": 8, "title": "Totals"}]}, "success"),
        ("search_sheets", {"found": False}, "success"),
        ("check_sheet", {"found": False}, "success"),
    ],
)
def test_what_is_got_by_its_name_and_is_not_there_is_not_found(tool, value, outcome):
    assert _judge(value, tool).outcome == outcome
