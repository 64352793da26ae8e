"""`die` ends the process with status 7 before it answers; `echo` works; `pid` tells the process id."""

import os

from raw import serve, text, tool


def call(name, arguments):
    if name == "die":
        os._exit(7)
    return text(str(os.getpid()) if name == "pid" else arguments["text"])


serve([tool("die"), tool("echo", "text"), tool("pid")], call, name="dies-in-call")
