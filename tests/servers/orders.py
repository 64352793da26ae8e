"""A shop with random ids: of letters, of digits and letters, with a prefix; its errors repeat them, and draw new ones.

`browse` lists what there is; `batch` fails for some of its orders; `tally` breaks down with a bare code.
"""

import json
import random

from raw import serve, text, tool

orders, customers = {}, {}


def drawn(letters, length):
    return "".join(random.choice(letters) for _ in range(length))


def data(value):
    return text(json.dumps(value))


def failed(said):
    return text(said, isError=True)


def call(name, arguments):  # noqa: PLR0911
    if name == "register":
        key = drawn("bcdfghjklmnpqrstvwxz", 7)
        customers[key] = arguments["name"]
        return data({"customer": key, "name": arguments["name"]})
    if name == "order":
        if arguments["customer"] not in customers:
            return failed(f"Customer {arguments['customer']} not found. Known customers: {', '.join(customers)}")
        key = f"ord_{drawn('abcdef0123456789', 6)}"
        orders[key] = {"order": key, "customer": arguments["customer"], "state": "open"}
        return data(orders[key])
    if name == "browse":
        return data({"orders": list(orders.values())})
    if name == "batch":
        return data({"results": [of_order("cancel", key) for key in arguments["orders"]]})
    if name == "tally":
        return failed("E1042")
    answer = of_order(name, arguments["order"])
    return data(answer) if "error" not in answer else failed(answer["error"])


def of_order(name, key):
    trace = f"(request {drawn('abcdef', 2)}{drawn('0123456789', 3)})"
    if key not in orders:
        return {"error": f"Order '{key}' not found {trace}"}
    order = orders[key]
    if name == "ship":
        if order["state"] != "open":
            return {"error": f"Order {key} of {order['customer']} is {order['state']}, only open ones ship {trace}"}
        order["state"] = "shipped"
    if name == "cancel":
        if order["state"] == "shipped":
            return {"error": f"Cannot cancel {key}: it is shipped already {trace}"}
        order["state"] = "cancelled"
    return order


BATCH = {"name": "batch", "inputSchema": {"type": "object", "properties": {"orders": {"type": "array"}}}}
READS = {"annotations": {"readOnlyHint": True}}
TOOLS = [
    tool("register", "name"),
    tool("order", "customer"),
    tool("ship", "order"),
    tool("cancel", "order"),
    tool("look", "order", **READS),
    tool("browse", **READS),
    tool("tally", **READS),
    BATCH,
]
serve(TOOLS, call, name="orders")
