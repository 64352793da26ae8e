"""`look` is annotated read-only, `touch` says that it is not, `plain` says nothing."""

from raw import serve, text, tool

serve(
    [
        tool("look", annotations={"readOnlyHint": True}),
        tool("touch", annotations={"readOnlyHint": False, "destructiveHint": True}),
        tool("plain"),
    ],
    lambda name, arguments: text(name),
    name="annotated",
)
