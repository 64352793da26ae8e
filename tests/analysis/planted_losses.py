"""Thirty lost runs of tasks as a benchmark's user meets them: ten by the environment, ten not by it, ten by the model.

Written before `replay audit` saw any of them: the calls, how the office's server failed them, the truth and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

Truth: TypeAlias = Literal["on-path", "not-on-path", "model"]
Calls: TypeAlias = list[list[tuple[str, dict[str, Any]]]]

BUSY = "HTTP 503: Service Unavailable"
QUOTA = "429 Too Many Requests: quota exceeded, retry after 60 seconds"


class Planted(NamedTuple):
    name: str
    truth: Truth
    why: str
    question: str
    calls: Calls
    """Steps of calls: the tool as `server/tool`, its arguments."""
    faults: Sequence[dict[str, Any]] = ()
    reply: str = "Done."


def step(tool: str, **arguments: Any) -> list[tuple[str, dict[str, Any]]]:
    """A step of one call."""
    return [(tool, arguments)]


def fault(tool: str, how: str, of: str | None = None, **more: int) -> dict[str, Any]:
    return {"tool": tool, "how": how, "of": of, **more}


ON_PATH = [
    Planted(
        "the-file-hangs",
        "on-path",
        "The one file of the task never answered.",
        "What was the turnover of March, by /data/q1.csv?",
        [step("files/read_file", path="/data/q1.csv")],
        [fault("read_file", "hang")],
        "I could not read the file.",
    ),
    Planted(
        "search-quota",
        "on-path",
        "Every search was refused for quota, so the winner had to be guessed.",
        "Who won the Lisbon marathon in 2023, and in what time?",
        [
            step("web/search", query="Lisbon marathon 2023 winner"),
            step("web/search", query="Maratona de Lisboa 2023 vencedor"),
            step("web/search", query="Lisbon marathon results 2023"),
        ],
        [fault("search", QUOTA)],
        "It was Andualem Shiferaw.",
    ),
    Planted(
        "product-look-up-down",
        "on-path",
        "The product's number could not be had, and the one guessed is wrong.",
        "Order two pieces of the green kettle.",
        [
            step("shop/find_product", name="green kettle"),
            step("shop/place_order", product="P-0001", quantity="2"),
            step("mail/send_mail", to="me@office.example", subject="Order", body="It could not be placed."),
        ],
        [fault("find_product", BUSY)],
    ),
    Planted(
        "mail-out-refused",
        "on-path",
        "All was read, but the mail that the task wants could not be sent.",
        "Send the turnover of June, in /data/q2.csv, to boss@office.example.",
        [
            step("files/read_file", path="/data/q2.csv"),
            step("mail/send_mail", to="boss@office.example", subject="June", body="210"),
        ],
        [fault("send_mail", "refused")],
    ),
    Planted(
        "database-down-number-made-up",
        "on-path",
        "The number was never had from the database; what was written is made up.",
        "Write the number of rows of the table customers to /out/count.txt.",
        [
            step("db/query", sql="select count(*) from customers"),
            step("files/write_file", path="/out/count.txt", content="150"),
        ],
        [fault("query", "could not connect to server: Connection refused. Is the server running on host db?")],
    ),
    Planted(
        "sheet-dies-total-made-up",
        "on-path",
        "The sheet could not be read; a row with a made-up total was appended to it all the same.",
        "Add up the column Hours of the sheet Timesheet and append a row with the total.",
        [
            step("sheets/get_rows", sheet="Timesheet"),
            step("sheets/append_row", sheet="Timesheet", values="Total,40"),
        ],
        [fault("get_rows", "die")],
    ),
    Planted(
        "one-of-three-files",
        "on-path",
        "The second of three files was never had; the third, which was read after it, is another one.",
        "Sum the turnover over /data/q1.csv, /data/q2.csv and /data/q3.csv.",
        [
            step("files/read_file", path="/data/q1.csv"),
            step("files/read_file", path="/data/q2.csv"),
            step("files/read_file", path="/data/q3.csv"),
        ],
        [fault("read_file", "read timed out after 30 seconds", "/data/q2.csv")],
        "Together 750.",
    ),
    Planted(
        "the-mail-that-mattered",
        "on-path",
        "Of the mails listed, the one of Ana on the budget was asked for and never had; others were read.",
        "What does Ana say of the budget in her mail?",
        [
            step("mail/list_mails"),
            step("mail/read_mail", id="m-2041"),
            step("mail/read_mail", id="m-2043"),
        ],
        [fault("read_mail", "502 Bad Gateway", "m-2041")],
        "She says nothing of it.",
    ),
    Planted(
        "calendar-token-expired",
        "on-path",
        "The appointment could not be made: the benchmark's token had expired.",
        "Put a dentist appointment into my calendar on 2026-03-04 at 10:00.",
        [
            step("calendar/create_event", title="Dentist", day="2026-03-04", time="10:00"),
            step("calendar/list_events", day="2026-03-04"),
        ],
        [fault("create_event", "401 Unauthorized: the access token has expired")],
    ),
    Planted(
        "one-of-three-rates",
        "on-path",
        "One of three rates, asked for side by side, was refused and never asked for again.",
        "Write the rates of the euro in USD, JPY and CHF to /out/rates.txt.",
        [
            [("fx/rate", {"quote": "USD"}), ("fx/rate", {"quote": "JPY"}), ("fx/rate", {"quote": "CHF"})],
            step("files/write_file", path="/out/rates.txt", content="USD 1.0834, JPY 160, CHF 0.9412"),
        ],
        [fault("rate", QUOTA, "JPY")],
    ),
]

NOT_ON_PATH = [
    Planted(
        "asked-again",
        "not-on-path",
        "The second try gave the file; the sum was wrong.",
        "Sum the turnover in /data/q1.csv.",
        [step("files/read_file", path="/data/q1.csv"), step("files/read_file", path="/data/q1.csv")],
        [fault("read_file", BUSY, times=1)],
        "It is 390.",
    ),
    Planted(
        "got-by-the-shell",
        "not-on-path",
        "What the fetcher could not get, curl in the shell did.",
        "What does the green kettle cost, by https://kettles.example/prices?",
        [
            step("web/fetch", url="https://kettles.example/prices"),
            step("shell/run", command="curl -s https://kettles.example/prices"),
        ],
        [fault("fetch", "The operation timed out")],
        "It costs 29.90.",
    ),
    Planted(
        "weather-on-the-way",
        "not-on-path",
        "Nobody had asked for the weather.",
        "Sum the turnover in /data/q1.csv.",
        [
            step("files/read_file", path="/data/q1.csv"),
            step("weather/forecast", city="Lisbon"),
            step("files/read_file", path="/data/q1.csv"),
        ],
        [fault("forecast", "upstream request timeout")],
        "It is 390.",
    ),
    Planted(
        "a-last-look-at-the-calendar",
        "not-on-path",
        "All that the task wanted was done before, and wrong; the calendar has nothing to do with it.",
        "Write the sum of the turnover in /data/q1.csv to /out/sum.txt.",
        [
            step("files/read_file", path="/data/q1.csv"),
            step("files/write_file", path="/out/sum.txt", content="390"),
            step("calendar/list_events", day="2026-01-01"),
        ],
        [fault("list_events", "hang")],
    ),
    Planted(
        "asked-in-other-words",
        "not-on-path",
        "The same was searched for in other words, and found.",
        "Who won the Lisbon marathon in 2023, and in what time?",
        [
            step("web/search", query="Lisbon marathon 2023 winner"),
            step("web/search", query="who won the 2023 marathon in Lisbon"),
        ],
        [fault("search", QUOTA, times=1)],
        "A. Mengstu, in 2:08:12.",
    ),
    Planted(
        "asked-for-all-of-the-sheet",
        "not-on-path",
        "The range timed out, the whole sheet came.",
        "How many hours are in the sheet Timesheet?",
        [
            step("sheets/get_rows", sheet="Timesheet", range="A1:B3"),
            step("sheets/get_rows", sheet="Timesheet"),
        ],
        [fault("get_rows", "Timed out while waiting for the backend", times=1)],
        "There are 15.",
    ),
    Planted(
        "two-mirrors-side-by-side",
        "not-on-path",
        "Both mirrors were asked at once, and the second one had it.",
        "In how many seconds does Kettle 2.0 boil, by the release notes on the mirrors mirror-one.example and "
        "mirror-two.example?",
        [
            [
                ("web/fetch", {"url": "https://mirror-one.example/kettle/notes.txt"}),
                ("web/fetch", {"url": "https://mirror-two.example/kettle/notes.txt"}),
            ]
        ],
        [fault("fetch", BUSY, "https://mirror-one.example/kettle/notes.txt")],
        "In 49 seconds.",
    ),
    Planted(
        "database-starts-slowly",
        "not-on-path",
        "The fourth try got what the first three asked for.",
        "In which cities are the customers of the table customers?",
        [step("db/query", sql="select city from customers")] * 4,
        [fault("query", "connect ECONNREFUSED 127.0.0.1:5432", times=3)],
        "In Rome and Lisbon.",
    ),
    Planted(
        "ping-fails-first",
        "not-on-path",
        "Only a check of health failed, every query was answered.",
        "Write the number of rows of the table customers to /out/count.txt.",
        [
            step("db/ping"),
            step("db/query", sql="select count(*) from customers"),
            step("files/write_file", path="/out/count.txt", content="3"),
        ],
        [fault("ping", "hang")],
    ),
    Planted(
        "mail-sent-at-the-second-try",
        "not-on-path",
        "The mail went out at the second try, with another text, and the number in it is wrong.",
        "Send the turnover of June, in /data/q2.csv, to boss@office.example.",
        [
            step("files/read_file", path="/data/q2.csv"),
            step("mail/send_mail", to="boss@office.example", subject="June", body="Dear boss, June had 120. Best, me"),
            step("mail/send_mail", to="boss@office.example", subject="Turnover", body="120"),
        ],
        [fault("send_mail", "refused", times=1)],
    ),
]

BY_THE_MODEL = [
    Planted(
        "wrong-password",
        "model",
        "The password stands in the task, and the model mistyped it.",
        "What was the rent of 2023? It stands in the archive `house`, whose password is kettle42.",
        [step("archive/open_archive", name="house", password="kettle24")],
        reply="I have no access.",
    ),
    Planted(
        "wrong-path",
        "model",
        "The path was made up.",
        "What was the turnover of March, by the file q1.csv in /data?",
        [step("files/read_file", path="/home/q1.csv"), step("files/read_file", path="/q1.csv")],
        reply="There is no such file.",
    ),
    Planted(
        "argument-left-out",
        "model",
        "A required argument was left out three times.",
        "Put a dentist appointment into my calendar on 2026-03-04 at 10:00.",
        [step("calendar/create_event", title="Dentist", day="2026-03-04")] * 3,
    ),
    Planted(
        "no-such-tool",
        "model",
        "The model called a tool that nobody offers.",
        "Sum the turnover in /data/q1.csv.",
        [step("files/open_file", path="/data/q1.csv")],
    ),
    Planted(
        "address-made-up",
        "model",
        "The site does not exist: the model made its address up and never searched.",
        "What does a green kettle cost?",
        [
            step("web/fetch", url="https://www.green-kettle-prices.invalid/today"),
            step("web/fetch", url="https://www.cheap-kettle-shop.invalid/green"),
        ],
        reply="About 25 euros.",
    ),
    Planted(
        "endless-loop",
        "model",
        "The command that the model wrote never ends.",
        "Count the odd numbers below 1000 with a shell command.",
        [step("shell/run", command="n=1; while [ $n -lt 1000 ]; do c=$n; done; echo $c")],
        reply="There are 499.",
    ),
    Planted(
        "no-call",
        "model",
        "It answered from memory.",
        "How many rows has the table customers?",
        [],
        reply="It has 150 rows.",
    ),
    Planted(
        "wrong-column",
        "model",
        "The same wrong column was asked for again and again.",
        "In which cities are the customers of the table customers?",
        [
            step("db/query", sql="select town from customers"),
            step("db/query", sql="select distinct town from customers"),
        ],
    ),
    Planted(
        "a-log-of-errors",
        "model",
        "The log speaks of 503 and refused connections, and was read; the count is wrong.",
        "How many requests in /data/server.log were answered with 200?",
        [step("files/read_file", path="/data/server.log"), step("shell/run", command="echo 503 Service Unavailable")],
        reply="Two.",
    ),
    Planted(
        "stopped-half-way",
        "model",
        "It read the file and never sent the mail.",
        "Send the turnover of June, in /data/q2.csv, to boss@office.example.",
        [step("files/read_file", path="/data/q2.csv")],
        reply="The turnover of June was 210.",
    ),
]

PLANTED = [*ON_PATH, *NOT_ON_PATH, *BY_THE_MODEL]
