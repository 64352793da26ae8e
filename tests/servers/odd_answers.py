"""Answers that break the specification, a tool each: see `ANSWERS`."""

from raw import RefusedError, serve, tool

ANSWERS = {
    "unknown-type": {"content": [{"type": "hologram", "data": 1, "extra": {"a": None}}], "surprise": True},
    "text-content": {"content": "just text"},
    "object-content": {"content": {"type": "text", "text": "alone"}},
    "strings": {"content": ["one", 2]},
    "no-content": {"rows": [1, 2]},
    "not-an-object": "just a string",
    "wrong-structure": {"content": [], "structuredContent": {"n": "no number"}},
    "surrogate": {"content": [{"type": "text", "text": "half \ud83d"}]},
    "infinite": {"content": [], "structuredContent": {"n": float("inf")}},
}


def call(name, arguments):
    if name == "refuses":
        raise RefusedError(-32000, "Connection closed", {"really": "no"})
    if name == "odd-error":
        raise RefusedError("E42", {"text": "odd"})
    return ANSWERS[name]


tools = [tool(name) for name in (*ANSWERS, "refuses", "odd-error")]
tools[6]["outputSchema"] = {"type": "object", "properties": {"n": {"type": "number"}}}
serve(tools, call, name="odd-answers")
