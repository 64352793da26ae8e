"""The readers, and which of them reads a file."""

from __future__ import annotations

from replay.errors import UnknownFormatError
from replay.formats.anthropic_messages import AnthropicMessagesReader
from replay.formats.atif import AtifReader
from replay.formats.autogen import AutoGenReader
from replay.formats.bfcl import BfclReader
from replay.formats.claude_code import ClaudeCodeReader
from replay.formats.cline import ClineReader
from replay.formats.codex import CodexReader
from replay.formats.copilot_cli import CopilotCliReader
from replay.formats.cursor import CursorReader
from replay.formats.dagfile import DagFileReader
from replay.formats.document import NO_MATCH, READER_FAULTS, Head, Match, Reader
from replay.formats.gemini_cli import GeminiCliReader
from replay.formats.google_adk import GoogleAdkReader
from replay.formats.goose import GooseReader
from replay.formats.inspect_log import InspectReader
from replay.formats.langfuse import LangfuseReader
from replay.formats.langsmith import LangSmithReader
from replay.formats.m3bench import M3BenchReader
from replay.formats.mcpbench_results import McpBenchReader
from replay.formats.mcpeval_results import McpEvalReader
from replay.formats.not_read import is_recording, product_of
from replay.formats.openai_chat import OpenAIChatReader
from replay.formats.openai_responses import OpenAIResponsesReader
from replay.formats.opencode import OpenCodeReader
from replay.formats.openhands import OpenHandsReader
from replay.formats.otel_genai import OtelReader
from replay.formats.pi import PiReader
from replay.formats.promptfoo import PromptfooReader
from replay.formats.smolagents import SmolagentsReader
from replay.formats.swe_agent import SweAgentReader
from replay.formats.tau_bench import TauBenchReader

READERS: tuple[Reader, ...] = (
    DagFileReader(),
    M3BenchReader(),
    OpenAIChatReader(),
    InspectReader(),
    AtifReader(),
    OtelReader(),
    LangfuseReader(),
    McpBenchReader(),
    GoogleAdkReader(),
    McpEvalReader(),
    ClaudeCodeReader(),
    CodexReader(),
    GeminiCliReader(),
    CopilotCliReader(),
    OpenCodeReader(),
    OpenAIResponsesReader(),
    AnthropicMessagesReader(),
    TauBenchReader(),
    SweAgentReader(),
    OpenHandsReader(),
    LangSmithReader(),
    CursorReader(),
    ClineReader(),
    PiReader(),
    GooseReader(),
    BfclReader(),
    SmolagentsReader(),
    AutoGenReader(),
    PromptfooReader(),
)

DOUBT = 0.5
"""Below this certainty the user is told."""


def surest_reader(head: Head) -> tuple[Reader, Match, str | None]:
    """The reader that is surest of a file, its match, and the doubt to tell the user, if there is one.

    Raises:
        UnknownFormatError: no reader knows it.
    """
    matches = [(_sniffed(reader, head), reader) for reader in READERS]
    found = sorted(((m, r) for m, r in matches if m.certainty > 0), key=lambda pair: -pair[0].certainty)
    if not found:
        looked_for = "; ".join(reader.expected_shape for reader in READERS)
        first = next(iter(head.elements), None)
        place = "" if len(head.elements) == 1 and head.data.lstrip()[:1] == b"{" else "$[0]"
        product = product_of((*head.records, *head.elements))
        seems = f"this looks like {product}, which is not read" if product else "unknown shape"
        recording = product is not None or is_recording(head.records)
        message = f"{seems}: {_describe(first)}"
        raise UnknownFormatError(head.path, message, place, is_recording=recording, looked_for=looked_for)
    (match, reader), *others = found
    doubt = None
    if others and others[0][0].certainty == match.certainty:
        doubt = (
            f"{head.path}: read as {reader.name} ({match.why}); it might be {others[0][1].name} ({others[0][0].why})"
        )
    elif match.certainty < DOUBT:
        doubt = f"{head.path}: read as {reader.name}, which is not sure ({match.why})"
    return reader, match, doubt


def _sniffed(reader: Reader, head: Head) -> Match:
    """What a reader says of a head; one that trips over it does not know the file."""
    try:
        return reader.sniff(head)
    except READER_FAULTS:
        return NO_MATCH


def _describe(value: object) -> str:
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:8]))
        return f"an object with the keys {keys}" if value else "an empty object"
    names = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
