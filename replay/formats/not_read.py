"""What was not understood: files of products that are not read, and signs of calls in files that gave none."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from replay.formats.document import Head
from replay.formats.sources import InputFile

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


MAX_BYTES = 8 * 1024 * 1024
"""So much of a file is looked at."""
_SHOWN = 3
_NAMED = re.compile(
    rb'"(\w{0,40}(?:tool|function|action|invoke|invocation)\w{0,40})\\{0,3}"\s{0,8}+:\s{0,8}+'
    rb'(?!null|false|0\b|\[\s{0,8}\]|\{\s{0,8}\}|\\{0,3}"\\{0,3}")',
    re.IGNORECASE,
)
_TYPED = re.compile(
    rb'"type\\{0,3}"\s{0,8}+:\s{0,8}+\\{0,3}"(\w{0,40}(?:tool|function|invoke)\w{0,40})\\{0,3}"', re.IGNORECASE
)
_NO_CALLS = re.compile(
    r"\w*(?:tool|function|action)(?:s|s?_?(?:choice|config|definitions?|schemas?|tokens))|tools_\w+|parallel_tool_calls"
    r"|\w*too_?(?:long|large|low|loud)\w*|\w*(?:transaction|interaction|reaction|fraction|extraction|redaction|hook|tokens|definition|calling_model)\w*",
    re.IGNORECASE,
)
"""Names of what is offered or set, not called, and words that only hold one of these."""


def signs_of_calls(file: InputFile) -> tuple[str, ...]:
    """The names in a file that speak of calls, the most frequent first; none where nothing does."""
    with file.open() as stream:
        data = stream.read(MAX_BYTES)
    names = Counter(name.decode() for pattern in (_NAMED, _TYPED) for name in pattern.findall(data))
    return tuple(name for name, _ in names.most_common() if not _NO_CALLS.fullmatch(name))[:_SHOWN]


def finding(path: str, title: str, signs: tuple[str, ...]) -> str:
    """What to tell of a file that is known, and has signs of calls of which none was read."""
    quoted = ", ".join(f'"{name}"' for name in signs)
    return f"{path}: read as {title}, and no call was found, but it has {quoted}: this version may not be understood"
