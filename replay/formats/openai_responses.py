"""OpenAI Responses: lists of items (as MCPMark publishes them), request bodies and response objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.api_envelopes import without_envelope
from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_object, first_of, joined_text, objects, opened, text_of
from replay.formats.record_builders import json_text_call, of_server, recorded_answer, result_with_flag, text_call
from replay.formats.task_facts import reported_of, run_beside, tool_definitions, usage_in
from replay.records import Answer, JsonObject, ToolResult, Trajectory

CALL_TYPES = frozenset({"function_call", "function_call_output", "mcp_call", "custom_tool_call", "mcp_list_tools"})
ITEM_TYPES = CALL_TYPES | {
    "custom_tool_call_output", "reasoning", "web_search_call", "file_search_call", "computer_call",
    "code_interpreter_call", "image_generation_call", "local_shell_call", "mcp_approval_request",
}  # fmt: skip

_FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")
_HARNESS_CALLS = frozenset({"local_shell_call", "shell_call", "apply_patch_call", "computer_call"})
"""Calls of tools that the API brings and the client runs."""
_PROVIDER_CALLS = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
"""Calls that the provider ran itself."""


class OpenAIResponsesReader:
    """Reads what goes in and out of the Responses API."""

    name = "openai-responses"
    title = "OpenAI Responses items, requests and responses (MCPMark's messages.json)"
    expected_shape = 'OpenAI Responses ([{"type": "function_call", "call_id"}] or {"object": "response", "output"})'

    def sniff(self, head: Head) -> Match:
        """Items of the API's own types, in a list, a request or a response."""
        if head.whole == []:
            return Match(0.5, "no items, of a run that is described beside them")
        first = _final(without_envelope(head.first))
        if _is_body(first):
            return Match(0.95, '"object": "response"' if first.get("object") == "response" else '"input" of items')
        items = [record for record in head.objects if "payload" not in record]
        kinds = {str(item.get("type")) for item in items}
        if kinds & CALL_TYPES:
            return Match(0.95, f"items of the type {min(kinds & CALL_TYPES)}")
        if kinds & ITEM_TYPES:
            return Match(0.7, f"items of the type {min(kinds & ITEM_TYPES)}")
        texts = {str(part.get("type")) for item in head.objects for part in objects(item.get("content"))}
        return Match(0.6, "messages of output_text parts") if texts & {"output_text", "input_text"} else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One for a list of items, else one a body."""
        items: list[JsonObject] = []
        for element in document.records():
            value = _final(without_envelope(element.value))
            if _is_body(value):
                name = value.get("id")
                if not isinstance(name, str):
                    lines = element.place.startswith("line ")
                    name = document.task_name + (f"_{element.place.removeprefix('line ')}" if lines else "")
                yield _trajectory(value, name, element.place, document)
            elif isinstance(value, dict) and (isinstance(value.get("type"), str) or isinstance(value.get("role"), str)):
                if not str(value.get("type")).startswith("response."):
                    items.append(value)
            else:
                document.leave(element)
        if items or document.head.whole == []:
            yield _trajectory({"input": items, **run_beside(document)}, document.task_name, "$", document)


def _final(value: Any) -> Any:
    """The response in the last event of a stream of events; other events say nothing that is not in it."""
    if isinstance(value, dict) and value.get("type") in _FINAL_EVENTS and isinstance(value.get("response"), dict):
        return value["response"]
    return value


def _is_body(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    own = any(  # another format's `output` has not even one such item
        item.get("type") in CALL_TYPES and ("call_id" in item or "server_label" in item)
        for item in objects(value.get("output"))
    )
    if own or (isinstance(value.get("output"), list) and value.get("object") == "response"):
        return True
    return any("type" in item or "role" in item for item in objects(value.get("input")))


def _trajectory(body: JsonObject, identifier: str, place: str, document: Document) -> Trajectory:
    log, tools = CallLog(place, identifier), tool_definitions(body.get("tools"))
    items = [*objects(body.get("input")), *objects(body.get("output"))]
    approved = [item.get("approval_request_id") for item in items]
    for item in items:
        if item.get("role") == "user":
            log.ask(joined_text(item.get("content")))
        elif item.get("role") == "assistant":
            log.say(joined_text(item.get("content")))
        elif item.get("type") == "mcp_list_tools":
            tools += tool_definitions(item.get("tools"))
        elif item.get("type") == "mcp_approval_request" and item.get("id") is not None and item["id"] in approved:
            continue  # the call that was approved follows
        else:
            _read_call(item, log)
    log.model, usage = text_of(body.get("model")), usage_in(body.get("usage"))
    reported = reported_of(body)
    return log.trajectory(document, OpenAIResponsesReader.name, usage=usage, tools=tools, reported=reported)


def _read_call(item: JsonObject, log: CallLog) -> None:
    kind = str(item.get("type"))
    identifier = text_of(item.get("call_id"))
    if kind == "function_call":
        log.add(json_text_call(item.get("name"), item.get("arguments"), id=identifier))
    elif kind == "custom_tool_call" and isinstance(item.get("input"), str):
        log.add(text_call(str(item.get("name")), item["input"], id=identifier))
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        log.answer(identifier, unwrapped(item.get("output")))
    elif kind.removesuffix("_output") in _HARNESS_CALLS | _PROVIDER_CALLS:
        _read_own_tool(item, kind, log)
    elif kind in {"mcp_call", "mcp_approval_request"}:
        identifier = text_of(item.get("id"))
        name = item.get("name")
        fields = of_server(item.get("server_label"), name)
        log.add(json_text_call(name, item.get("arguments"), id=identifier, **fields))
        error = item.get("error")
        content = item.get("output") if error is None else error
        answer = None if content is None else result_with_flag(_error_text(content), error is not None)
        log.answer(identifier, answer, name=name if isinstance(name, str) else None)


def _read_own_tool(item: JsonObject, kind: str, log: CallLog) -> None:
    """A call of a tool that the API brings, or the answer to one."""
    identifier = next((item[key] for key in ("call_id", "id") if isinstance(item.get(key), str)), None)
    if kind.endswith("_output"):
        log.answer(identifier, recorded_answer(item.get("output")))
        return
    given = first_of(item, "action", "operation", "queries", "code")
    given = {} if given is None else given
    arguments = given if isinstance(given, dict) else {"code" if kind.startswith("code") else "queries": given}
    log.add(json_text_call(kind.removesuffix("_call"), arguments, id=identifier, local=True))
    output = item.get("outputs", item.get("results"))
    if kind in _PROVIDER_CALLS and output is not None:
        log.answer(identifier, recorded_answer(output))


def unwrapped(output: Any) -> Answer | None:
    """What the server said, out of the text block with a whole result as JSON text that MCPMark makes of it; any other
    output as it is.
    """
    if isinstance(output, list):
        texts = [part["text"] for part in output if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return recorded_answer("\n".join(texts) if len(texts) == len(output) else output)
    outer = as_object(opened(output))
    inner = as_object(opened(outer.get("text"))) if outer and outer.get("type") == "text" else outer
    if inner and isinstance(inner.get("content"), list) and {"isError", "is_error"} & inner.keys():
        answer = recorded_answer(inner)
        if isinstance(answer, ToolResult):
            return answer
    return recorded_answer(output)


def _error_text(error: Any) -> Any:
    content = error.get("content", error.get("message")) if isinstance(error, dict) else None
    return error if content is None else content
