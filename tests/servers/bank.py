"""Accounts in memory: a `withdraw` fails as frozen only after `open`, `deposit` and `freeze` of the same account.

`audit` crashes over a frozen account, and of any other it says no more than a code.
"""

import sys

from raw import RefusedError, serve, text, tool

accounts = {}


def call(name, arguments):
    if name == "remark":
        return text("noted")
    if name == "unlock":
        refused = arguments["code"].startswith("sk-")
        return text("Invalid code: it must not start like a key" if refused else "unlocked", isError=refused)
    return of_account(name, arguments, accounts.get(arguments.get("account")))


def of_account(name, arguments, account):  # noqa: PLR0911
    if name == "open":
        accounts[arguments["account"]] = {"balance": 0, "frozen": False}
        return text("opened")
    if account is None:
        return text(f"Account '{arguments.get('account')}' does not exist", isError=True)
    if name == "deposit":
        account["balance"] += 100
        return text("deposited")
    if name == "freeze":
        account["frozen"] = True
        return text("frozen")
    if name == "audit":
        if account["frozen"]:
            print("Traceback (most recent call last):\nRuntimeError: no rows", file=sys.stderr, flush=True)
        return text("Error executing tool audit" if account["frozen"] else "E7", isError=True)
    if account["balance"] < 100:
        return text("Invalid amount: the balance must be at least 100", isError=True)
    if account["frozen"]:
        raise RefusedError(-32602, "Invalid account: it must not be frozen")
    return text("withdrawn")


TOOLS = [
    tool("open", "account"),
    tool("deposit", "account"),
    tool("freeze", "account"),
    tool("withdraw", "account"),
    tool("audit", "account"),
    tool("remark"),
    tool("unlock", "code"),
]
TOOLS[3]["inputSchema"]["properties"]["memo"] = {"type": "string"}

if __name__ == "__main__":
    serve(TOOLS, call, name="bank", version="4.2")
