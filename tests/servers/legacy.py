"""Speaks only the protocol of 2024-11-05, and answers nothing that comes before `initialize` but with -32602."""

from raw import RefusedError, serve, text, tool

seen = set()


def before(method):
    seen.add(method)


def call(name, arguments):
    if "initialize" not in seen:
        raise RefusedError(-32602, "Invalid request parameters")
    return text(arguments["text"])


serve([tool("echo", "text")], call, name="legacy", protocol="2024-11-05", before=before)
