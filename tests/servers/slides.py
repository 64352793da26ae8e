"""One presentation at a time: `open_presentation` loads a file, and all else is about the one that is loaded.

`save_as` makes a new one; `open_presentation` says that it only reads where `argv[1]` is `reads`.
"""

import json
import sys
from pathlib import Path

from raw import serve, text, tool

loaded = {}


def call(name, arguments):
    if name == "open_presentation":
        path = Path(arguments["path"])
        if not path.exists():
            return text(f"Failed to open presentation: no such file: {path}", isError=True)
        loaded["path"], loaded["slides"] = str(path), path.read_text("utf-8").splitlines()
        return text(json.dumps({"slides": len(loaded["slides"])}))
    if not loaded:
        return text("No presentation is currently loaded. Open or create one first.", isError=True)
    if name == "add_slide":
        loaded["slides"].append(arguments["title"])
        return text(json.dumps({"slides": len(loaded["slides"])}))
    if not arguments["number"].isdecimal() or int(arguments["number"]) >= len(loaded["slides"]):
        return text(f"Slide {arguments['number']} not found", isError=True)
    return text(loaded["slides"][int(arguments["number"])])


READS = {"annotations": {"readOnlyHint": True}}
OPENS = READS if sys.argv[1:] == ["reads"] else {}
serve(
    [tool("open_presentation", "path", **OPENS), tool("add_slide", "title"), tool("read_slide", "number", **READS)],
    call,
    name="slides",
)
