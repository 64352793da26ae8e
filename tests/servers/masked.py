"""`get` answers with no reason, and `explain` with one; both write a stack trace to stderr, `quiet` writes nothing."""

import os
import sys
import traceback

from raw import serve, text, tool

READ_ONLY = "WRITES" not in os.environ


def call(name, arguments):
    if name != "quiet":
        try:
            raise RuntimeError(f"the database is gone, asked for {arguments['id']}")
        except RuntimeError:
            traceback.print_exc(file=sys.stderr)
            sys.stderr.flush()
    reason = f": id must be a number, got {arguments['id']!r}" if name == "explain" else ""
    return text(f"Error executing tool {name}{reason}", isError=True)


serve([tool(name, "id", annotations={"readOnlyHint": READ_ONLY}) for name in ("get", "explain", "quiet")], call)
