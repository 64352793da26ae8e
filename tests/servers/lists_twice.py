"""Lists the same tool twice, with different descriptions, and an entry without a name."""

from raw import serve, text, tool

serve(
    [
        tool("echo", "text", description="first"),
        tool("echo", "text", description="second"),
        {"description": "nameless"},
    ],
    lambda name, arguments: text(arguments["text"]),
    name="lists-twice",
)
