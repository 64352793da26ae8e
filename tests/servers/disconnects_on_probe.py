"""Exits with status 1 unless the first request is `initialize`, as servers written in Rust do."""

import sys

from raw import serve, text, tool

seen = set()


def before(method):
    if not seen and method != "initialize":
        sys.exit(1)
    seen.add(method)


serve([tool("echo", "text")], lambda name, arguments: text(arguments["text"]), name="hangs-up", before=before)
