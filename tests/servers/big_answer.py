"""`big` answers with a line of as many megabytes as asked for."""

from raw import serve, text, tool

serve(
    [tool("big", "megabytes"), tool("echo", "text")],
    lambda name, arguments: text("x" * (int(arguments["megabytes"]) * 2**20) if name == "big" else arguments["text"]),
    name="big-answer",
)
