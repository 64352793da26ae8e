"""`hang` never answers but the server lives on; `freeze` stops it altogether, even for EOF; `echo` works."""

import time

from raw import serve, text, tool


def call(name, arguments):
    if name == "hang":
        return None
    if name == "freeze":
        time.sleep(3600)
    return text(arguments["text"])


serve([tool("hang"), tool("freeze"), tool("echo", "text")], call, name="hangs-in-call")
