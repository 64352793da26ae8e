"""`look` (read-only) and `put` (has effects) append `n` to the file in env LOGBOOK; env PAUSE slows them."""

import os
import time
from pathlib import Path

from raw import serve, text, tool


def call(name, arguments):
    with Path(os.environ["LOGBOOK"]).open("a", encoding="utf-8") as log:
        log.write(f"{name} {arguments['n']}\n")
    time.sleep(float(os.environ.get("PAUSE", "0")))
    if arguments["n"].endswith("7"):
        return text(f"Error: entry {arguments['n']} not found", isError=True)
    return text(f"{name} {arguments['n']} done")


serve([tool("look", "n", annotations={"readOnlyHint": True}), tool("put", "n")], call, name="logbook")
