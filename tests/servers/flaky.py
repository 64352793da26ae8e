"""`look` (read-only) finds nothing at every second call, counted over all its processes in the file in env STATE."""

import os
from pathlib import Path

from raw import serve, text, tool


def call(name, arguments):
    state = Path(os.environ["STATE"])
    count = len(state.read_text()) if state.exists() else 0
    state.write_text("x" * (count + 1))
    return text("Error: nothing found", isError=True) if count % 2 else text("here")


serve([tool("look", annotations={"readOnlyHint": True})], call, name="flaky")
