"""A list of things to do: `add` and `done` say which argument is missing, in the same words for each."""

from raw import serve, text, tool

items = {}


def call(name, arguments):
    needed = {"add": ("title", "due"), "done": ("id",)}[name]
    for field in needed:
        if field not in arguments:
            return text(f"Missing required argument: '{field}'", isError=True)
    if name == "add":
        items[str(len(items) + 1)] = arguments["title"]
        return text(f"added {len(items)}")
    if arguments["id"] not in items:
        return text(f"Item {arguments['id']!r} not found among {len(items)} items", isError=True)
    return text("done")


serve([tool("add"), tool("done", "id")], call, name="todo-list")
