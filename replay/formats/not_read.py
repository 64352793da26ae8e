"""What products that are not read write, so that their files are told by name."""

from __future__ import annotations

from typing import Final

from replay.formats.document import Head

_BY_KEYS: Final = (
    ("an MLflow trace", {"info", "data"}, b'"request_id"'),
    ("an MLflow trace", {"info", "data"}, b'"trace_id"'),
    ("a Weights & Biases Weave export", {"op_name", "trace_id"}, b""),
    ("a Braintrust export", {"root_span_id", "span_attributes"}, b""),
    ("a Datadog LLM export", {"ml_app"}, b""),
    ("a Helicone export", {"request_body", "response_body"}, b""),
    ("a CrewAI log", {"task_name", "agent", "status", "task"}, b""),
    ("a DeepEval result", {"testCases"}, b""),
    ("an Aider benchmark result", {"testcase", "tests_outcomes"}, b""),
)
"""Of each: the keys of its record, and bytes that stand in it too."""


def product_of(head: Head) -> str | None:
    """What wrote a file that no reader knows; None where nothing tells."""
    for record in head.records[:20]:
        for product, keys, also in _BY_KEYS:
            if isinstance(record, dict) and keys <= record.keys() and also in head.data:
                return product
    return None
