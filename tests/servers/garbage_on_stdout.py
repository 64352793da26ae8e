"""Prints on stdout before every answer what is not JSON-RPC: text, other JSON, bytes that are not UTF-8."""

import sys

from raw import serve, text, tool


def noise(method):
    sys.stdout.flush()
    sys.stdout.buffer.write(
        b"INFO: got " + method.encode() + b'\n\n[1, 2]\n"text"\n{"level": "debug"}\n\xff\xfe\n{"broken\n'
    )
    sys.stdout.buffer.flush()


serve([tool("echo", "text")], lambda name, arguments: text(arguments["text"]), name="garbage", before=noise)
