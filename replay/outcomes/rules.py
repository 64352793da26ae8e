"""The one ordered table of answer rules: the first that matches decides, and what each is certain of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from replay.outcomes.conditions import (
    Condition,
    arguments_are_refused,
    brings_data,
    brings_text,
    cause_is_hidden,
    coded,
    error_is_only_a_value,
    exists_already,
    fault_is,
    fault_status_is,
    holds_what_was_asked,
    host_says,
    internal_error_only,
    network_is_down,
    one_of,
    os_denies_named_path,
    os_denies_own_path,
    own_file_missing,
    own_name_undefined,
    own_part_fails,
    own_process_failed,
    own_program_failed,
    program_asks_to_install,
    program_failed,
    program_is_missing,
    program_reports_missing,
    query_names_nothing,
    says,
    says_a_cause,
    says_it_went_well,
    schema_explains,
    session_is_lost,
    status_says,
    stored_json_is_broken,
    thing_is_missing,
    too_large_to_hand_out,
    tool_is_unknown,
    unauthorized,
    undefined_in_place,
    value_is_malformed,
)
from replay.outcomes.evidence import ParsedAnswer
from replay.records import Certainty, Outcome, Reason, TransportFault


class Example(NamedTuple):
    """An answer that a rule decides, and the call that it answers."""

    answer: str | TransportFault
    arguments: Mapping[str, object] = MappingProxyType({})
    tool: str = "get_item"
    flagged: bool = True
    """Whether the answer has `isError`."""


class Rule(NamedTuple):
    """One way in which an answer says how a call went."""

    id: str
    outcome: Outcome
    sentence: str
    example: Example
    matches: Condition
    reason: Reason | None = None
    certainty: Certainty = "certain"


FAULT_RULES: tuple[Rule, ...] = (
    Rule(
        "fault.timeout",
        Outcome.INCONCLUSIVE,
        "No answer came within the time limit.",
        Example(TransportFault(fault="timeout", message="no answer within 30 s")),
        fault_is("timeout"),
        Reason.TIMEOUT,
    ),
    Rule(
        "fault.closed",
        Outcome.INCONCLUSIVE,
        "The connection ended before the answer.",
        Example(TransportFault(fault="closed", message="the server exited with code 1")),
        fault_is("closed"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "fault.not-started",
        Outcome.INCONCLUSIVE,
        "The server never ran.",
        Example(TransportFault(fault="not-started", message="command not found: uvx")),
        fault_is("not-started"),
        Reason.SERVER_UNAVAILABLE,
    ),
    Rule(
        "fault.unauthorized",
        Outcome.INCONCLUSIVE,
        "The server refused the request over HTTP for want of credentials (401, 403, 407).",
        Example(TransportFault(fault="unreadable", message="HTTP 401 Unauthorized")),
        fault_status_is(401, 403, 407),
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "fault.rate-limited",
        Outcome.INCONCLUSIVE,
        "The server refused the request over HTTP because there were too many (429).",
        Example(TransportFault(fault="unreadable", message="HTTP 429 Too Many Requests")),
        fault_status_is(429),
        Reason.RATE_LIMITED,
    ),
    Rule(
        "fault.unreadable",
        Outcome.INCONCLUSIVE,
        "What came back was not a valid answer.",
        Example(TransportFault(fault="unreadable", message="content: expected a list")),
        fault_is("unreadable"),
        Reason.SERVER_FAULT,
    ),
)
"""For transport faults, before all other rules."""

ERROR_RULES: tuple[Rule, ...] = (
    Rule(
        "harness.input-no-json",
        Outcome.ILLEGAL_FORMAT,
        "The harness says that the arguments which the model wrote were not JSON.",
        Example('Error running tool write: Invalid JSON input for tool write: {"path": "a.txt"', flagged=False),
        says("input-not-json", program=False),
    ),
    Rule(
        "answer.needs-a-client",
        Outcome.INCONCLUSIVE,
        "The tool asked its client for something (sampling, elicitation, roots) that a replay does not answer.",
        Example("Error executing tool get_item: sampling/createMessage is not available in a replay"),
        says("needs-client", program=False),
        Reason.WITHHELD,
    ),
    Rule(
        "harness.not-permitted",
        Outcome.INCONCLUSIVE,
        "The harness did not make the call: its user has not permitted it.",
        Example("The agent asked for permission to use get_item, and you have not granted it."),
        host_says("not-permitted"),
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "harness.interrupted",
        Outcome.INCONCLUSIVE,
        "The harness or its user cancelled the call.",
        Example("The user cancelled this tool call"),
        one_of(host_says("cancelled"), says("cancelled", program=False)),
        Reason.INTERRUPTED,
    ),
    Rule(
        "harness.session-lost",
        Outcome.INCONCLUSIVE,
        "The session or the connection between host and server is gone.",
        Example("Bad Request: No valid session ID provided"),
        session_is_lost,
        Reason.NETWORK,
    ),
    Rule(
        "harness.no-cause",
        Outcome.INCONCLUSIVE,
        "A host or an SDK says that the call failed, and keeps the cause to itself.",
        Example("An error occurred invoking 'get_item'."),
        cause_is_hidden,
        Reason.UNEXPLAINED,
        "fallback",
    ),
    Rule(
        "answer.tool-unknown",
        Outcome.UNKNOWN_TOOL,
        "The answer says that there is no such tool.",
        Example("MCP error -32602: Tool get_item not found"),
        tool_is_unknown,
    ),
    Rule(
        "answer.own-output",
        Outcome.INCONCLUSIVE,
        "The server's own output breaks its own schema: its fault, not the caller's.",
        Example(
            "Error executing tool get_item: 1 validation error for get_itemOutput\nprice\n  Input should be a number"
        ),
        says("own-output"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.store-no-json",
        Outcome.INCONCLUSIVE,
        "The server could not parse JSON that did not come from the call: what it has stored is broken.",
        Example("Expected property name or '}' in JSON at position 1 (line 1 column 2)", {"name": "Ann"}),
        stored_json_is_broken,
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.arguments-invalid",
        Outcome.INVALID_ARGUMENTS,
        "The server's check of the arguments failed.",
        Example("Input validation error: 'query' is a required property", tool="search"),
        arguments_are_refused,
    ),
    Rule(
        "answer.too-large",
        Outcome.INCONCLUSIVE,
        "The answer was held back because it is longer than the harness or the server hands out.",
        Example("Error: result (2,000,000 characters) exceeds the allowed number of tokens", tool="run"),
        too_large_to_hand_out,
        Reason.RATE_LIMITED,
        "likely",
    ),
    Rule(
        "answer.rate-limited",
        Outcome.INCONCLUSIVE,
        "The backend limits how often, or how much, may be asked.",
        Example("Error: 429 Too Many Requests"),
        says("rate-limited"),
        Reason.RATE_LIMITED,
    ),
    Rule(
        "answer.outside-the-sandbox",
        Outcome.INVALID_ARGUMENTS,
        "The server refuses what the arguments ask for: a path, a command or a statement that it does not allow.",
        Example(
            "Error: Access denied - path outside allowed directories: /etc/passwd", {"path": "/etc/passwd"}, "read_file"
        ),
        says("policy"),
    ),
    Rule(
        "program.missing",
        Outcome.INCONCLUSIVE,
        "What the command needs is not installed, or not allowed, where it runs.",
        Example("sh: 1: jq: not found\n\nreturn code: 127", {"command": "jq . a.json"}, "run_command"),
        one_of(program_is_missing, program_asks_to_install, os_denies_own_path),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.permission-denied",
        Outcome.INVALID_ARGUMENTS,
        "The operating system denies access to the very thing that the arguments name.",
        Example("EACCES: permission denied, open '/root/x'", {"path": "/root/x"}, "read_file"),
        os_denies_named_path,
        certainty="likely",
    ),
    Rule(
        "answer.unauthorized",
        Outcome.INCONCLUSIVE,
        "Credentials are missing, wrong or not enough.",
        Example('{"status": 401, "message": "Bad credentials"}'),
        unauthorized,
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "answer.network",
        Outcome.INCONCLUSIVE,
        "A host could not be resolved or reached.",
        Example("Error: getaddrinfo ENOTFOUND api.example.org"),
        network_is_down,
        Reason.NETWORK,
    ),
    Rule(
        "answer.timeout",
        Outcome.INCONCLUSIVE,
        "The server, or something behind it, waited in vain.",
        Example("TimeoutError: locator.click: Timeout 5000ms exceeded."),
        says("timeout"),
        Reason.TIMEOUT,
    ),
    Rule(
        "program.not-found",
        Outcome.NOT_FOUND,
        "A program that the call ran ended with an error and says that what the arguments name is not there.",
        Example(
            "cat: nope.txt: No such file or directory\n\nCommand completed with return code: 1",
            {"command": "cat nope.txt"},
            "run_command",
        ),
        program_reports_missing,
        certainty="likely",
    ),
    Rule(
        "program.failed",
        Outcome.INVALID_ARGUMENTS,
        "A program that the call ran ended with an error.",
        Example(
            "Traceback (most recent call last):\nKeyError: 'name'\n\nCommand completed with return code: 1",
            {"command": "python a.py"},
            "run_command",
        ),
        program_failed,
        certainty="likely",
    ),
    Rule(
        "answer.environment",
        Outcome.INCONCLUSIVE,
        "Something that the server needs is not installed, full or broken where it runs.",
        Example("browserType.launch: Executable doesn't exist at /opt/chrome. Run: npx playwright install"),
        one_of(says("environment"), own_part_fails),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.outage",
        Outcome.INCONCLUSIVE,
        "The backend answered with a fault of its own (5xx).",
        Example("Request failed: 503 Service Unavailable"),
        says("outage"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.own-program",
        Outcome.INVALID_ARGUMENTS,
        "A program that the call brought raised an exception.",
        Example("TypeError: rows.map is not a function", {"code": "() => rows.map(row => row.id)"}, "evaluate"),
        own_program_failed,
        certainty="likely",
    ),
    Rule(
        "answer.query-names-nothing",
        Outcome.INVALID_ARGUMENTS,
        "The query names a column or a function that does not exist.",
        Example('column "prise" does not exist', {"sql": "select prise from items"}, "execute_sql"),
        query_names_nothing,
    ),
    Rule(
        "answer.gone",
        Outcome.NOT_FOUND,
        "The backend answered 404 or 410.",
        Example("failed to get file: GET https://api.example.org/contents/a.md: 404 Not Found []"),
        status_says("missing"),
    ),
    Rule(
        "answer.explained-by-schema",
        Outcome.INVALID_ARGUMENTS,
        "The call failed, and its arguments break the tool's inputSchema.",
        Example("entities.filter is not a function", {"entities": "x"}, "create_entities"),
        schema_explains,
    ),
    Rule(
        "answer.exists-already",
        Outcome.INVALID_ARGUMENTS,
        "What the call would make is there already.",
        Example("Error: Sheet Totals already exists", {"sheet": "Totals"}),
        exists_already,
    ),
    Rule(
        "answer.own-file-missing",
        Outcome.INCONCLUSIVE,
        "The server misses a file that the call neither named nor could have named.",
        Example("Error: ENOENT: no such file or directory, open '/srv/data/index.json'", {"query": "apples"}, "search"),
        own_file_missing,
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.own-process",
        Outcome.INCONCLUSIVE,
        "A program that the server runs for itself ended badly.",
        Example("start indexer: the indexer process exited: exit status 3", {"project": "shop"}, "open_project"),
        own_process_failed,
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.malformed-value",
        Outcome.INVALID_ARGUMENTS,
        "A value in the arguments cannot be parsed or computed: a syntax error, a division by zero, a broken file.",
        Example('Error: near "selec": syntax error', {"query": "selec 1"}, "query"),
        value_is_malformed,
    ),
    Rule(
        "answer.not-found",
        Outcome.NOT_FOUND,
        "The thing asked for is not there.",
        Example(
            "Document /docs/a.docx does not exist", {"filename": "/docs/a.docx"}, "get_document_text", flagged=False
        ),
        thing_is_missing,
    ),
    Rule(
        "answer.only-the-value",
        Outcome.NOT_FOUND,
        "The error says nothing but an argument's value: a failed look-up.",
        Example("Error executing tool git_status: /data/nope", {"repo_path": "/data/nope"}, "git_status"),
        error_is_only_a_value,
        certainty="likely",
    ),
    Rule(
        "answer.bad-request",
        Outcome.INVALID_ARGUMENTS,
        "The backend refused the request (4xx).",
        Example('{"status": 400, "object": "error", "message": "Block does not support children."}'),
        coded("invalid"),
    ),
    Rule(
        "answer.crash",
        Outcome.INCONCLUSIVE,
        "The server's own code crashed, with nothing wrong in the arguments that anybody knows of.",
        Example("Cannot read properties of undefined (reading 'map')"),
        one_of(says("crash"), internal_error_only, own_name_undefined),
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.refused",
        Outcome.INVALID_ARGUMENTS,
        "The server refuses the arguments and says what they should be.",
        Example("Invalid slide index: 5. Available slides: 0-0", {"slide": 5}),
        says("requirement"),
        certainty="likely",
    ),
    Rule(
        "answer.says-why",
        Outcome.INVALID_ARGUMENTS,
        "The answer is an error whose cause names an argument, a value or a limit, and is none of the environment's.",
        Example("Booking failed: hotel-7 is for groups alone", {"hotel": "hotel-7"}, "book"),
        says_a_cause,
        certainty="fallback",
    ),
    Rule(
        "answer.error",
        Outcome.INCONCLUSIVE,
        "The answer is an error, and nothing tells whose.",
        Example("Error: something went wrong"),
        lambda parsed: parsed.error is not None,
        Reason.UNEXPLAINED,
        "fallback",
    ),
)
"""For answers that report an error, of which the last takes any; none of them matches another answer."""

CONTENT_RULES: tuple[Rule, ...] = (
    Rule(
        "answer.nothing-in-place",
        Outcome.INVALID_ARGUMENTS,
        "A required argument is missing, and the server computed with `undefined` or `NaN` in its place.",
        Example("The sum of 1 and undefined is NaN", {"a": 1}, "add", False),
        undefined_in_place,
        certainty="likely",
    ),
    Rule(
        "success.program",
        Outcome.SUCCESS,
        "A program that the call ran ended well, whatever it printed.",
        Example("row 3 failed\nreturn code: 0", {"command": "python a.py"}, "run_command", False),
        lambda parsed: parsed.program_exit is not None,
    ),
    Rule(
        "success.empty",
        Outcome.SUCCESS,
        "The tool ran and had nothing to show.",
        Example("[]", flagged=False),
        lambda parsed: parsed.is_empty,
    ),
    Rule(
        "success.structured",
        Outcome.SUCCESS,
        "The answer is data that reports no error: an object, a list, an image, structured content.",
        Example('{"id": 7, "name": "lamp"}', flagged=False),
        brings_data,
    ),
    Rule(
        "success.asked-for",
        Outcome.SUCCESS,
        "The answer is more than a sentence, and holds a value that the call asked for.",
        Example("Order 4711-b\n\nred lamp\n12 EUR\nshipped on Monday", {"order": "4711-b"}, "get_order", False),
        holds_what_was_asked,
    ),
    Rule(
        "success.says-so",
        Outcome.SUCCESS,
        "The answer says that what was asked was done.",
        Example("Successfully wrote the page", {"title": "a"}, "write_page", False),
        says_it_went_well,
        certainty="likely",
    ),
    Rule(
        "success.payload",
        Outcome.SUCCESS,
        "The answer is more than a sentence: a text of some length, a table, a number.",
        Example("lamp 12 EUR\ndesk 90 EUR\nchair 40 EUR", {"room": "a"}, "list_prices", False),
        brings_text,
        certainty="likely",
    ),
    Rule(
        "success.answered",
        Outcome.SUCCESS,
        "The tool answered, and nothing in its words says how it went.",
        Example("The blue one", {"q": "x"}, "choose", False),
        lambda _: True,
        certainty="fallback",
    ),
)
"""For answers that report no error, of which the last takes any."""

RULES: tuple[Rule, ...] = (*FAULT_RULES, *ERROR_RULES, *CONTENT_RULES)


def deciding_rule(parsed: ParsedAnswer) -> Rule:
    """The first rule that matches; only those are asked that can."""
    rules = RULES if parsed.fault is not None else ERROR_RULES if parsed.error is not None else CONTENT_RULES
    return next(rule for rule in rules if rule.matches(parsed))
