"""`increment` counts in memory and appends its arguments to the file in env COUNTER_LOG; `value` is read-only."""

import json
import os
from pathlib import Path

from raw import serve, text, tool

counted = []


def call(name, arguments):
    if name == "increment":
        counted.append(arguments)
        with Path(os.environ["COUNTER_LOG"]).open("a", encoding="utf-8") as log:
            log.write(json.dumps(arguments) + "\n")
    return text(str(len(counted)))


tools = [tool("increment"), tool("value", annotations={"readOnlyHint": True})]
tools[0]["inputSchema"]["properties"] = {"by": {"type": "string"}}
serve(tools, call, name="counter")
