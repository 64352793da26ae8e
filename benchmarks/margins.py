"""Labelled answers with what hosts, writers and programs put around any answer, their flags taken away.

    python benchmarks/margins.py

A failure stays one and a success likewise, whatever stands around it: how many do not, by kind. The answers are those
of `labelled_answers.py`, of up to 20,000 characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from labelled_answers import Case, all_cases

from replay.records import RpcError, TextAnswer, TransportFault, texts_of

MAX_LENGTH = 20_000
AROUND: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: text,
    "an id below": lambda text: f"{text}\n\nRequest ID: 7f3a9c21-1b2d-4c5e-8f90-abcdef123456",
    "a time below": lambda text: f"{text}\n\nElapsed: 0.42s",
    "a rule below": lambda text: f"{text}\n---\n",
    "a link below": lambda text: f"{text}\n\n[View in dashboard](https://a.example/x)",
    "a time in brackets before": lambda text: f"[2026-03-04 10:22:31] {text}",
    "a time and a level before": lambda text: f"2026-03-04 10:22:31,120 INFO {text}",
    "a level before": lambda text: f"INFO: {text}",
    "a picture before": lambda text: f"🔧 {text}",
    "a bullet before": lambda text: f"- {text}",
    "a line of the host above": lambda text: f"The following is the response of the tool.\n\n{text}",
    "the tool's name above": lambda text: f"[Tool: lookup]\n{text}",
    "tool and result as fields": lambda text: f"tool: lookup\nresult: {text}",
    "a fence below a line": lambda text: f"Here's the result:\n```json\n{text}\n```",
    "a tag of text": lambda text: f"<pre>{text}</pre>",
    "a list of it alone": lambda text: json.dumps([text]),
    "a wrapper's success": lambda text: json.dumps({"status": "success", "message": text}),
    "a mark of the encoding": lambda text: f"\ufeff{text}",
    "spaces without a break": lambda text: text.replace(" ", "\u00a0"),
}


def main() -> None:
    """Judge the answers with each, and print the table."""
    cases = [
        (case, "\n".join(texts_of(case.answer)))
        for case in all_cases()
        if not isinstance(case.answer, RpcError | TransportFault)
    ]
    cases = [(case, text) for case, text in cases if 0 < len(text) <= MAX_LENGTH]
    failures, successes = ([pair for pair in cases if getattr(pair[0], which)] for which in ("fails", "succeeds"))
    print(f"| around it | of {len(failures)} failures called success | of {len(successes)} successes called failures |")
    print("| --- | --- | --- |")
    for name, put in AROUND.items():
        missed = sum(_outcome(case, put(text)) == "success" for case, text in failures)
        charged = sum(_outcome(case, put(text)) != "success" for case, text in successes)
        print(f"| {name} | {missed} | {charged} |", flush=True)


def _outcome(case: Case, text: str) -> str:
    call = case.call.model_copy(update={"answer": TextAnswer(text=text)})
    return str(case._replace(call=call, answer=TextAnswer(text=text), recorded=True).judged().outcome)


if __name__ == "__main__":
    main()
