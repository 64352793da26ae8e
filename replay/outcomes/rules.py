"""The one ordered table of answer rules. The first that matches decides.

Those for transport faults, and what a rule is, stand in `fault_rules`.
"""

from __future__ import annotations

from replay.outcomes.answer import (
    ParsedAnswer,
    arguments_are_refused,
    code_in,
    error_is_only_a_value,
    error_matches,
    internal_error_only,
    network_is_down,
    one_of,
    os_denies_named_path,
    program_failed,
    program_reports_missing,
    schema_explains,
    status_in,
    stored_json_is_broken,
    thing_is_missing,
    tool_is_unknown,
    unauthorized,
    undefined_in_place,
    value_is_malformed,
)
from replay.outcomes.causes.cause_words import says_a_cause
from replay.outcomes.causes.harness_reports import call_was_cancelled, permission_not_given
from replay.outcomes.causes.responsibility import (
    model_says,
    own_file_missing,
    own_name_undefined,
    own_part_fails,
    own_process_failed,
    own_program_failed,
    query_names_nothing,
)
from replay.outcomes.fault_rules import FAULT_RULES, Example, Rule
from replay.outcomes.words import error_phrases
from replay.records import Outcome, Reason

ERROR_RULES: tuple[Rule, ...] = (
    Rule(
        "harness.input-no-json",
        Outcome.ILLEGAL_FORMAT,
        "The harness says that the arguments which the model wrote were not JSON.",
        Example('Error running tool write: Invalid JSON input for tool write: {"path": "a.txt"', flagged=False),
        error_matches(error_phrases.INPUT_NOT_JSON, program=False),
    ),
    Rule(
        "answer.needs-a-client",
        Outcome.INCONCLUSIVE,
        "The tool asked its client for something (sampling, elicitation, roots) that a replay does not answer.",
        Example("Error executing tool get_item: sampling/createMessage is not available in a replay"),
        error_matches(error_phrases.NEEDS_A_CLIENT, program=False),
        Reason.WITHHELD,
    ),
    Rule(
        "harness.not-permitted",
        Outcome.INCONCLUSIVE,
        "The harness did not make the call: its user has not permitted it.",
        Example("The agent asked for permission to use get_item, and you have not granted it."),
        permission_not_given,
        Reason.UNAUTHORIZED,
    ),
    Rule(
        "harness.interrupted",
        Outcome.INCONCLUSIVE,
        "The harness or its user cancelled the call.",
        Example("The user cancelled this tool call"),
        call_was_cancelled,
        Reason.INTERRUPTED,
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
        error_matches(error_phrases.OUTPUT_INVALID),
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
        error_matches(error_phrases.TOO_LARGE, program=False),
        Reason.RATE_LIMITED,
        "likely",
    ),
    Rule(
        "answer.rate-limited",
        Outcome.INCONCLUSIVE,
        "The backend limits how often, or how much, may be asked.",
        Example("Error: 429 Too Many Requests"),
        one_of(status_in(429), error_matches(error_phrases.RATE_LIMIT)),
        Reason.RATE_LIMITED,
    ),
    Rule(
        "answer.outside-the-sandbox",
        Outcome.INVALID_ARGUMENTS,
        "The server refuses what the arguments ask for: a path, a command or a statement that it does not allow.",
        Example(
            "Error: Access denied - path outside allowed directories: /etc/passwd", {"path": "/etc/passwd"}, "read_file"
        ),
        error_matches(error_phrases.POLICY_REFUSAL),
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
        one_of(code_in(-32001), status_in(408, 504), error_matches(error_phrases.TIMEOUT)),
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
        one_of(error_matches(error_phrases.ENVIRONMENT), own_part_fails),
        Reason.SERVER_FAULT,
    ),
    Rule(
        "answer.outage",
        Outcome.INCONCLUSIVE,
        "The backend answered with a fault of its own (5xx).",
        Example("Request failed: 503 Service Unavailable"),
        one_of(status_in(*range(500, 600)), error_matches(error_phrases.OUTAGE)),
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
        one_of(status_in(404, 410), code_in(-32002)),
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
        error_matches(error_phrases.ALREADY_EXISTS),
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
        one_of(status_in(*range(400, 500)), code_in(-32602)),
    ),
    Rule(
        "answer.crash",
        Outcome.INCONCLUSIVE,
        "The server's own code crashed, with nothing wrong in the arguments that anybody knows of.",
        Example("Cannot read properties of undefined (reading 'map')"),
        one_of(error_matches(error_phrases.CRASH), internal_error_only, own_name_undefined),
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "answer.refused",
        Outcome.INVALID_ARGUMENTS,
        "The server refuses the arguments and says what they should be.",
        Example("Invalid slide index: 5. Available slides: 0-0", {"slide": 5}),
        error_matches(error_phrases.REFUSAL),
        certainty="likely",
    ),
    Rule(
        "model.environment",
        Outcome.INCONCLUSIVE,
        "The sentence reads like those that report a fault of the environment.",
        Example("The add-on for charts was not set up on this host.", tool="draw", flagged=False),
        model_says("inconclusive"),
        Reason.SERVER_FAULT,
        "likely",
    ),
    Rule(
        "model.not-found",
        Outcome.NOT_FOUND,
        "The sentence reads like those that report a missing thing.",
        Example("Nobody with the id 7 is on file.", tool="get_user"),
        model_says("not_found"),
        certainty="likely",
    ),
    Rule(
        "model.invalid-arguments",
        Outcome.INVALID_ARGUMENTS,
        "The sentence reads like those that refuse the arguments.",
        Example("Please open a session with 'begin' before this action.", tool="update_item", flagged=False),
        model_says("invalid_arguments"),
        certainty="likely",
    ),
    Rule(
        "answer.says-why",
        Outcome.INVALID_ARGUMENTS,
        "The answer is an error that gives a cause, and the cause is none of the environment's.",
        Example("Booking failed: no rooms left", {"date": "2026-01-01"}, "book"),
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
        Example(
            "Error: row 3 skipped\n\nCommand completed with return code: 0",
            {"command": "python a.py"},
            "run_command",
            False,
        ),
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
        "success.answered",
        Outcome.SUCCESS,
        "The tool answered.",
        Example("Error handling in Rust\n\nErrors are values.", {"path": "a.md"}, "read_file", False),
        lambda _: True,
    ),
)
"""For answers that report no error, of which the last takes any."""

RULES: tuple[Rule, ...] = (*FAULT_RULES, *ERROR_RULES, *CONTENT_RULES)


def deciding_rule(parsed: ParsedAnswer) -> Rule:
    """The first rule that matches; only those are asked that can."""
    rules = RULES if parsed.fault is not None else ERROR_RULES if parsed.error is not None else CONTENT_RULES
    return next(rule for rule in rules if rule.matches(parsed))
