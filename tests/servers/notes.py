"""`write`, `read` and `where` on files of the directory in argv[1], by absolute path; what lies outside is refused."""

import json
import sys
from pathlib import Path

from raw import serve, text, tool

root = Path(sys.argv[1]).resolve()


def call(name, arguments):
    if name == "where":
        place = json.dumps({"root": str(root), "cwd": str(Path.cwd())})
        return text(place, structuredContent={"root": str(root), str(root): "as a key"})
    path = Path(arguments["path"]).resolve()
    if not path.is_relative_to(root):
        return text(f"Access denied: {path} is outside {root}", isError=True)
    try:
        if name == "read":
            return text(path.read_text("utf-8"))
        path.write_text(arguments["text"], "utf-8")
    except OSError as problem:
        return text(str(problem), isError=True)
    return text(f"Wrote {path}")


serve([tool("write", "path", "text"), tool("read", "path"), tool("where")], call, name="notes")
