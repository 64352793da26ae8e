"""`spill` answers with an AWS key, a private key and the API key of its environment, and writes that key to stderr."""

import os
import sys

from raw import serve, text, tool

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"


def call(name, arguments):
    key = os.environ["LEAKY_API_KEY"]
    print(f"using {key}", file=sys.stderr, flush=True)
    if name == "fail":
        return text(f"Error: {arguments['header']} is not accepted, {key} neither", isError=True)
    return text(f"aws AKIAIOSFODNN7EXAMPLE\n{PEM}\nkey {key}")


serve([tool("spill"), tool("fail", "header")], call, name="leaky")
