"""The one ordered table of answer rules. The first that matches decides."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from replay.outcomes import phrases
from replay.outcomes.matching import (
    Match,
    arguments_refused,
    code_in,
    denied_by_itself,
    echoes_a_value,
    either,
    explained_by_schema,
    fault_is,
    network_down,
    nothing_in_place,
    program_failed,
    program_misses,
    says,
    status_in,
    storage_no_json,
    thing_missing,
    tool_unknown,
    unauthorized,
    value_malformed,
)
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
    match: Match
    reason: Reason | None = None
    certainty: Certainty = "certain"


BAD, LOST, NONE, GOOD, ILLEGAL, OPEN = (
    Outcome.INVALID_ARGUMENTS,
    Outcome.NOT_FOUND,
    Outcome.UNKNOWN_TOOL,
    Outcome.SUCCESS,
    Outcome.ILLEGAL_FORMAT,
    Outcome.INCONCLUSIVE,
)

RULES: tuple[Rule, ...] = (
    Rule(
        "fault.timeout",
        OPEN,
        "No answer came within the time limit.",
        Example(TransportFault(fault="timeout", message="no answer within 30 s")),
        fault_is("timeout"),
        Reason.TIMEOUT,
    ),
    Rule(
        "fault.closed",
        OPEN,
        "The connection ended before the answer.",
        Example(TransportFault(fault="closed", message="the server exited with code 1")),
        fault_is("closed"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "fault.not-started",
        OPEN,
        "The server never ran.",
        Example(TransportFault(fault="not-started", message="command not found: uvx")),
        fault_is("not-started"),
        Reason.SERVER_UNAVAILABLE,
    ),
    Rule(
        "fault.unreadable",
        OPEN,
        "What came back was no valid answer.",
        Example(TransportFault(fault="unreadable", message="content: expected a list")),
        fault_is("unreadable"),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "harness.input-no-json",
        ILLEGAL,
        "The harness says that the arguments which the model wrote were not JSON.",
        Example('Error running tool write: Invalid JSON input for tool write: {"path": "a.txt"', flagged=False),
        says(phrases.INPUT_NO_JSON, program=False),
    ),
    Rule(
        "answer.tool-unknown",
        NONE,
        "The answer says that there is no such tool.",
        Example("MCP error -32602: Tool get_item not found"),
        tool_unknown,
    ),
    Rule(
        "answer.own-output",
        OPEN,
        "The server's own output breaks its own schema: its fault, not the caller's.",
        Example(
            "Error executing tool get_item: 1 validation error for get_itemOutput\nprice\n  Input should be a number"
        ),
        says(phrases.OWN_OUTPUT),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.store-no-json",
        OPEN,
        "The server could not parse JSON that did not come from the call: what it has stored is broken.",
        Example("Expected property name or '}' in JSON at position 1 (line 1 column 2)", {"name": "Ann"}),
        storage_no_json,
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.arguments-invalid",
        BAD,
        "The server's check of the arguments failed.",
        Example("Input validation error: 'query' is a required property", tool="search"),
        arguments_refused,
    ),
    Rule(
        "answer.rate-limited",
        OPEN,
        "The backend limits how often, or how much, may be asked.",
        Example("Error: 429 Too Many Requests"),
        either(status_in(429), says(phrases.RATE)),
        Reason.RATE_LIMITED,
    ),
    Rule(
        "answer.outside-the-sandbox",
        BAD,
        "The server refuses what the arguments ask for: a path, a command or a statement that it does not allow.",
        Example(
            "Error: Access denied - path outside allowed directories: /etc/passwd", {"path": "/etc/passwd"}, "read_file"
        ),
        says(phrases.REFUSED_PATH),
    ),
    Rule(
        "answer.permission-denied",
        BAD,
        "The operating system denies access to the very thing that the arguments name.",
        Example("EACCES: permission denied, open '/root/x'", {"path": "/root/x"}, "read_file"),
        denied_by_itself,
        certainty="likely",
    ),
    Rule(
        "answer.unauthorized",
        OPEN,
        "Credentials are missing, wrong or not enough.",
        Example('{"status": 401, "message": "Bad credentials"}'),
        unauthorized,
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "answer.network",
        OPEN,
        "A host could not be resolved or reached.",
        Example("Error: getaddrinfo ENOTFOUND api.example.org"),
        network_down,
        Reason.NETWORK,
    ),
    Rule(
        "answer.timeout",
        OPEN,
        "The server, or something behind it, waited in vain.",
        Example("TimeoutError: locator.click: Timeout 5000ms exceeded."),
        either(code_in(-32001), status_in(408, 504), says(phrases.TIMEOUT)),
        Reason.TIMEOUT,
    ),
    Rule(
        "program.not-found",
        LOST,
        "A program that the call ran ended with an error and says that what the arguments name is not there.",
        Example(
            "cat: nope.txt: No such file or directory\n\nCommand completed with return code: 1",
            {"command": "cat nope.txt"},
            "run_command",
        ),
        program_misses,
        certainty="likely",
    ),
    Rule(
        "program.failed",
        BAD,
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
        OPEN,
        "Something that the server needs is not installed, full or broken where it runs.",
        Example("browserType.launch: Executable doesn't exist at /opt/chrome. Run: npx playwright install"),
        says(phrases.ENVIRONMENT),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.outage",
        OPEN,
        "The backend answered with a fault of its own (5xx).",
        Example("Request failed: 503 Service Unavailable"),
        either(status_in(*range(500, 600)), says(phrases.OUTAGE)),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.gone",
        LOST,
        "The backend answered 404 or 410.",
        Example("failed to get file: GET https://api.example.org/contents/a.md: 404 Not Found []"),
        either(status_in(404, 410), code_in(-32002)),
    ),
    Rule(
        "answer.explained-by-schema",
        BAD,
        "The call failed, and its arguments break the tool's inputSchema.",
        Example("entities.filter is not a function", {"entities": "x"}, "create_entities"),
        explained_by_schema,
    ),
    Rule(
        "answer.exists-already",
        BAD,
        "What the call would make is there already.",
        Example("Error: Sheet Totals already exists", {"sheet": "Totals"}),
        says(phrases.EXISTS),
    ),
    Rule(
        "answer.malformed-value",
        BAD,
        "A value in the arguments cannot be parsed or computed: a syntax error, a division by zero, a broken file.",
        Example('Error: near "selec": syntax error', {"query": "selec 1"}, "query"),
        value_malformed,
    ),
    Rule(
        "answer.not-found",
        LOST,
        "The thing asked for is not there.",
        Example(
            "Document /docs/a.docx does not exist", {"filename": "/docs/a.docx"}, "get_document_text", flagged=False
        ),
        thing_missing,
    ),
    Rule(
        "answer.only-the-value",
        LOST,
        "The error says nothing but an argument's value: a failed look-up.",
        Example("Error executing tool git_status: /data/nope", {"repo_path": "/data/nope"}, "git_status"),
        echoes_a_value,
        certainty="likely",
    ),
    Rule(
        "answer.bad-request",
        BAD,
        "The backend refused the request (4xx).",
        Example('{"status": 400, "object": "error", "message": "Block does not support children."}'),
        either(status_in(*range(400, 500)), code_in(-32602)),
    ),
    Rule(
        "answer.crash",
        OPEN,
        "The server's own code crashed, with nothing wrong in the arguments that anybody knows of.",
        Example("Cannot read properties of undefined (reading 'map')"),
        says(phrases.CRASH),
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.refused",
        BAD,
        "The server refuses the arguments and says what they should be.",
        Example("Invalid slide index: 5. Available slides: 0-0", {"slide": 5}),
        says(phrases.REFUSAL),
        certainty="likely",
    ),
    Rule(
        "answer.error",
        BAD,
        "The answer is an error that nothing explains.",
        Example("Error: something went wrong"),
        lambda reading: reading.failure is not None,
        certainty="fallback",
    ),
    Rule(
        "answer.nothing-in-place",
        BAD,
        "A required argument is missing, and the server computed with `undefined` or `NaN` in its place.",
        Example("The sum of 1 and undefined is NaN", {"a": 1}, "add", False),
        nothing_in_place,
        certainty="likely",
    ),
    Rule(
        "success.program",
        GOOD,
        "A program that the call ran ended well, whatever it printed.",
        Example(
            "Error: row 3 skipped\n\nCommand completed with return code: 0",
            {"command": "python a.py"},
            "run_command",
            False,
        ),
        lambda reading: reading.exit is not None,
    ),
    Rule(
        "success.empty",
        GOOD,
        "The tool ran and had nothing to show.",
        Example("[]", flagged=False),
        lambda reading: reading.is_empty,
    ),
    Rule(
        "success.answered",
        GOOD,
        "The tool answered.",
        Example("Error handling in Rust\n\nErrors are values.", {"path": "a.md"}, "read_file", False),
        lambda _: True,
    ),
)
