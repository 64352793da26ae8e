"""`look` (read-only) and `put` answer 429 as long as the file in env LIMIT is there; each is logged in env LOG."""

import os
from pathlib import Path

from raw import serve, text, tool


def call(name, arguments):
    with Path(os.environ["LOG"]).open("a") as log:
        log.write(f"{name} {arguments['n']}\n")
    if name == "free" or not Path(os.environ["LIMIT"]).exists():
        return text("here")
    return text("Error 429: Too Many Requests, rate limit exceeded", isError=True)


READ_ONLY = {"readOnlyHint": True}
serve(
    [tool("look", "n", annotations=READ_ONLY), tool("free", "n", annotations=READ_ONLY), tool("put", "n")],
    call,
    name="limited",
)
