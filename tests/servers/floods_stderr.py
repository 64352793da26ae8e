"""Writes a megabyte to stderr before every answer."""

import sys

from raw import serve, text, tool

serve(
    [tool("echo", "text")],
    lambda name, arguments: text(arguments["text"]),
    name="floods-stderr",
    before=lambda method: sys.stderr.write("log line\n" * 120_000),
)
