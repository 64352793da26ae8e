"""tools/list with an `inputSchema` without `type`, one that is null, one of type string, and none at all."""

from raw import serve, text

serve(
    [
        {"name": "untyped", "inputSchema": {"properties": {"text": {"type": "string"}}}},
        {"name": "null", "inputSchema": None},
        {"name": "string", "inputSchema": {"type": "string"}},
        {"name": "absent", "annotations": ["odd"]},
    ],
    lambda name, arguments: text(name),
    name="untyped-schema",
)
