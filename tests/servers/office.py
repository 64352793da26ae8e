"""The tools of an office, which fail as the file in env FAULTS says: `{"tool", "of", "times", "how"}` each.

`of` is a value of the arguments, by default any; `times` how often, by default always; `how` the text of an answer with
`isError`, `hang` for no answer, `die` for a process that ends, `refused` for a connection to a closed port.
"""

import json
import os
import socket
import sqlite3
import subprocess
from pathlib import Path

from raw import RefusedError, serve, text, tool

FILES = {
    "/data/q1.csv": "month,turnover\nJan,120\nFeb,130\nMar,155\n",
    "/data/q2.csv": "month,turnover\nApr,140\nMay,90\nJun,210\n",
    "/data/q3.csv": "month,turnover\nJul,80\nAug,75\nSep,190\n",
    "/data/server.log": "10:00 GET / 503 Service Unavailable\n10:01 GET / connection refused\n10:02 GET / 200 OK\n",
}
MAILS = {
    "m-2041": "From: Ana\nSubject: Re: budget\nThe budget is cut to 48300 euros.",
    "m-2042": "From: Bo\nSubject: lunch\nNoon at the corner?",
    "m-2043": "From: Cy\nSubject: printer\nIt is out of toner again.",
}
PAGES = {
    "https://mirror-one.example/kettle/notes.txt": "Kettle 2.0: boils in 94 seconds.",
    "https://mirror-two.example/kettle/notes.txt": "Kettle 2.0: boils in 94 seconds.",
    "https://kettles.example/prices": "Green kettle 31.50\nRed kettle 29.90",
}
PRODUCTS = {"green kettle": "P-7731", "red kettle": "P-7732"}
RATES = {"USD": "1.0834", "JPY": "162.71", "CHF": "0.9412"}
SHEETS = {"Timesheet": [["Day", "Hours"], ["Mon", "7.5"], ["Tue", "8.25"]]}
database = sqlite3.connect(":memory:")
database.executescript(
    "create table customers (id, name, city); insert into customers values (1,'Ada','Rome'),(2,'Bob','Bonn');"
)


def list_mails():
    return json.dumps([{"id": key, "head": mail.splitlines()[:2]} for key, mail in MAILS.items()])


def search(query):
    if not {"kettle", "marathon"} & set(query.lower().split()):
        return "[]"
    return json.dumps(
        [{"url": "https://kettles.example/prices"}, {"snippet": "Lisbon marathon 2023: A. Mengstu 2:05:45"}]
    )


def fetch(url):
    if url not in PAGES:
        host = url.split("/")[2]
        raise ValueError(f"request to {url} failed, reason: getaddrinfo ENOTFOUND {host}")
    return PAGES[url]


def run(command):
    if command.startswith("curl "):
        return fetch(command.split()[-1])
    try:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=0.2, check=False)
    except subprocess.TimeoutExpired as expired:
        raise ValueError("Command timed out after 0.2 seconds") from expired
    return done.stdout + done.stderr


def query(sql):
    return json.dumps(database.execute(sql).fetchall())


def looked_up(kind, table):
    def look(key):
        if key not in table:
            raise ValueError(f"{kind} not found: {key}")
        return table[key]

    return look


def open_archive(name, password):
    if password != "kettle42":
        raise ValueError(f"401 Unauthorized: wrong password for {name}")
    return "rent 2023: 11400"


def place_order(product, quantity):
    looked_up("Product", {number: name for name, number in PRODUCTS.items()})(product)
    return f"ordered {quantity}"


def done(*given):
    return "done"


ACTS = {
    "read_file": (looked_up("File", FILES), ["path"]),
    "write_file": (done, ["path", "content"]),
    "list_mails": (list_mails, []),
    "read_mail": (looked_up("Mail", MAILS), ["id"]),
    "send_mail": (done, ["to", "subject", "body"]),
    "search": (search, ["query"]),
    "fetch": (fetch, ["url"]),
    "run": (run, ["command"]),
    "query": (query, ["sql"]),
    "ping": (lambda: "pong", []),
    "get_rows": (lambda sheet, range="": json.dumps(SHEETS[sheet]), ["sheet"]),
    "append_row": (done, ["sheet", "values"]),
    "find_product": (looked_up("Product", PRODUCTS), ["name"]),
    "place_order": (place_order, ["product", "quantity"]),
    "rate": (looked_up("Currency", RATES), ["quote"]),
    "forecast": (lambda city: "sunny, 24 degrees", ["city"]),
    "list_events": (lambda day: "[]", ["day"]),
    "create_event": (done, ["title", "day", "time"]),
    "open_archive": (open_archive, ["name", "password"]),
}


def fault_of(name, arguments):
    """How this call fails, if it does; counted down in the file."""
    path = Path(os.environ["FAULTS"])
    faults = json.loads(path.read_text())
    for fault in faults:
        if fault["tool"] == name and fault.get("times", 1) and fault.get("of") in (None, *arguments.values()):
            if "times" in fault:
                fault["times"] -= 1
                path.write_text(json.dumps(faults))
            return fault["how"]
    return None


def call(name, arguments):
    if name not in ACTS:
        raise RefusedError(-32602, f"Unknown tool: {name}")
    how = fault_of(name, arguments)
    if how == "hang":
        return None
    if how == "die":
        os._exit(1)
    act, required = ACTS[name]
    missing = [field for field in required if field not in arguments]
    if missing:
        raise RefusedError(-32602, f"Invalid arguments: {missing[0]} is required")
    try:
        if how == "refused":
            with socket.socket() as closed:
                closed.bind(("127.0.0.1", 0))
                socket.create_connection(closed.getsockname(), timeout=1)
        return text(how, isError=True) if how else text(act(*arguments.values()))
    except (ValueError, OSError, sqlite3.Error) as problem:
        return text(f"Error: {problem}", isError=True)


if __name__ == "__main__":
    serve([tool(name, *required) for name, (_, required) in ACTS.items()], call, name="office")
