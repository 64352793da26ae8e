"""Small files in the formats of others, made for the tests, and how to read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replay.formats import open_file
from replay.formats.results_file import ResultsFile
from replay.records import Trajectory


def opened(directory: Path, content: Any, name: str = "file.json") -> ResultsFile:
    path = directory / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return open_file(path)


def read(directory: Path, content: Any, name: str = "file.json") -> list[Trajectory]:
    return list(opened(directory, content, name).trajectories())


def adk_event(author: str, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return {"author": author, "invocation_id": "i", "content": content, "timestamp": 1.7e9, **fields}


def adk_session() -> dict[str, Any]:
    return {
        "id": "s1",
        "app_name": "shop",
        "user_id": "u",
        "events": [
            adk_event("user", {"text": "Find a hat."}),
            adk_event("agent", {"function_call": {"name": "search", "args": {"q": "hat"}}}),
            adk_event("agent", {"function_response": {"name": "search", "response": {"result": "a hat"}}}),
            adk_event("agent", {"text": "Here is one."}),
        ],
    }


def atif() -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "mcp__files__read", "arguments": {"path": "a"}}
    results = [{"source_call_id": "c1", "content": "text of a"}]
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s1",
        "agent": {"name": "a", "version": "1", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Read a."},
            {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": results}},
            {"step_id": 3, "source": "agent", "message": "It says so."},
        ],
        "final_metrics": {"total_prompt_tokens": 10, "total_completion_tokens": 5},
    }


def span(identifier: str, start: int, parent: str | None = None, **attributes: Any) -> dict[str, Any]:
    return {
        "trace_id": "t1",
        "span_id": identifier,
        "parent_span_id": parent,
        "name": identifier,
        "start_time": 1_780_000_000_000_000_000 + start,
        "end_time": 1_780_000_000_000_000_001 + start,
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
        "status": {"code": "UNSET"},
    }


def tool_span(
    identifier: str, start: int, name: str, arguments: Any, result: Any = None, **more: Any
) -> dict[str, Any]:
    fields = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name, **more}
    made = span(identifier, start, **fields)
    made["attributes"]["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    if result is not None:
        made["attributes"]["gen_ai.tool.call.result"] = result
    return made


def chat_span(identifier: str, start: int) -> dict[str, Any]:
    return span(
        identifier, start, gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__usage__input_tokens=3
    )


def spans() -> list[dict[str, Any]]:
    return [tool_span("b", 20, "lookup", {"id": 7}, "seven"), chat_span("a", 10), chat_span("c", 30)]


def observation(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"o{second}",
        "traceId": "t1",
        "type": kind,
        "startTime": f"2026-01-01T00:00:{second:02}Z",
        "endTime": f"2026-01-01T00:00:{second + 1:02}Z",
        "parentObservationId": None,
        "level": "DEFAULT",
        **fields,
    }


def langfuse() -> dict[str, Any]:
    return {
        "trace": {"id": "t1", "projectId": "p", "name": "weather", "input": '"\\"Is it warm?\\""', "scores": []},
        "observations": [
            observation("TOOL", 5, name="running tool: forecast", input='{"city": "Rome"}', output="25"),
            observation("GENERATION", 1, model="m", usageDetails={"input": 3, "output": 2}),
        ],
    }


def mcpbench_call(tool: str, server: str, number: int, **fields: Any) -> dict[str, Any]:
    response = {"content": [{"type": "text", "text": "ok"}], "isError": False}
    call = {"tool": tool, "server": server, "call_id": f"c{number}", "round": number, "parameters": {"n": number}}
    return {"type": "tool_execution", **call, "success": True, "response": response, **fields}


def mcpbench(*calls: dict[str, Any]) -> dict[str, Any]:
    task = {"task_id": "k1", "model_name": "m", "status": "completed", "execution_results": list(calls)}
    return {"task_file": "f", "run_metadata": {}, "task_run_results": {"m": [task]}}


def mcpeval() -> list[dict[str, Any]]:
    function = {"name": "get_price", "arguments": '{"ticker": "X"}'}
    return [
        {
            "task_id": "e1",
            "success": True,
            "tool_calls": [{"tool_name": "get_price", "tool_parameters": {"ticker": "X"}}],
            "final_response": "9",
            "conversation": [
                {"role": "user", "content": "What does X cost?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "c", "name": "get_price", "content": "9"},
                {"role": "assistant", "content": "9", "tool_calls": []},
            ],
            "task": {"id": "e1", "name": "price", "description": "the price of X", "goal": "9"},
            "model": "m",
        }
    ]


def inspect_log() -> dict[str, Any]:
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    messages = [
        {"role": "user", "content": "attachment://h1"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "attachment://h2"},
        {"role": "assistant", "content": "done"},
    ]
    sample = {
        "id": 1,
        "epoch": 1,
        "messages": messages,
        "attachments": {"h1": "List the files.", "h2": "a.txt"},
        "scores": {"match": {"value": "C"}},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "run_id": "r"},
        "results": {"scores": []},
        "samples": [sample, {**sample, "epoch": 2}],
    }


FILES = sorted(Path(__file__).with_name("samples").iterdir())
SAMPLES: dict[str, Any] = {
    "google-adk": adk_session(),
    "atif": atif(),
    "otel-genai": spans(),
    "langfuse": langfuse(),
    "mcp-bench": mcpbench(mcpbench_call("time_mcp__now", "Time MCP", 1)),
    "mcpeval": mcpeval(),
    "inspect": inspect_log(),
    **{path.stem: json.loads(path.read_text()) for path in FILES if path.suffix == ".json"},
    **{
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in FILES
        if path.suffix == ".jsonl"
    },
}
"""A small file of each reader but ours and M3-Bench's, by the reader's name; of those in lines, the list of them."""


def sample_text(name: str, document: Any = None) -> str:
    """A sample, or a changed one, as its file has it."""
    document = SAMPLES[name] if document is None else document
    if Path(__file__).with_name("samples").joinpath(f"{name}.jsonl").exists():
        return "".join(json.dumps(record) + "\n" for record in document)
    return json.dumps(document)
