"""Traces that a server drew in a box for a terminal are read as plain ones, and long ones are read whole."""

from __future__ import annotations

from pathlib import Path

from replay.interpreter.session.stderr_log import tail_of, unboxed
from replay.records import Judgement, Outcome
from replay.replayer.verdict import with_stderr

BOXED = """\
[11/22/26 04:40:32] ERROR    Tool 'rename' raised an unexpected    server.py:455
                             exception                                          \n\
                             ╭─ Traceback (most recent call last─╮              \n\
                             │ /srv/lib/python3.11/site-packages │              \n\
                             │ /anyio/_asyncio.py:2779 in        │              \n\
                             │ run_sync_in_worker_thread         │              \n\
                             │                                   │              \n\
                             │   2776 │   │   │   │   │   worker │              \n\
                             │ ❱ 2779 │   │   │   │   return awa │              \n\
                             │                                   │              \n\
                             │ /home/me/projects/todo/server.py:2 │              \n\
                             │ 8 in rename                       │              \n\
                             │                                   │              \n\
                             │ ❱ 28 │   return ITEMS[id]["text"] │              \n\
                             ╰───────────────────────────────────╯              \n\
                             FileNotFoundError: [Errno 2] No such               \n\
                             file or directory: 'items.json'                    \n\
                                                                                \n\
                             The above exception was the direct                 \n\
                             cause of the following exception:                  \n\
                                                                                \n\
                             ╭─ Traceback (most recent call last─╮              \n\
                             │ /srv/mcp/base.py:213 in run       │              \n\
                             ╰───────────────────────────────────╯              \n\
                             UnexpectedToolError: Error executing               \n\
                             tool rename                                        \n\
"""
MASKED = Judgement.model_validate(
    {
        "outcome": "inconclusive",
        "reason": "unexplained",
        "rule": "answer.error",
        "evidence": "replay",
        "certainty": "fallback",
        "message": "The answer is an error, and nothing tells whose: Error executing tool rename",
    }
)


def test_a_boxed_trace_is_read_as_its_places_and_its_errors() -> None:
    lines = unboxed(BOXED).splitlines()
    assert lines[2:6] == [
        "Traceback (most recent call last):",
        "  /srv/lib/python3.11/site-packages/anyio/_asyncio.py:2779 in run_sync_in_worker_thread",
        "  /home/me/projects/todo/server.py:28 in rename",
        "FileNotFoundError: [Errno 2] No such file or directory: 'items.json'",
    ]
    assert lines[-2:] == ["  /srv/mcp/base.py:213 in run", "UnexpectedToolError: Error executing tool rename"]
    assert unboxed("╭─ a box of another kind ─╮\nplain\n") == "╭─ a box of another kind ─╮\nplain"


def test_the_verdict_names_the_error_that_says_more_than_the_answer() -> None:
    judged = with_stderr(MASKED, unboxed(BOXED))
    assert (judged.outcome, judged.rule) == (Outcome.INCONCLUSIVE, "replay.server-traceback")
    assert judged.message.endswith("FileNotFoundError: [Errno 2] No such file or directory: 'items.json'")


def test_a_trace_longer_than_what_is_shown_of_a_failed_start_is_read_whole(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    frames = "".join(f'  File "a.py", line {number}, in f\n    f()\n' for number in range(40))
    log.write_text(f"before\nTraceback (most recent call last):\n{frames}\x1b[31mKeyError: 'text'\x1b[0m\n")
    text = tail_of(log, len("before\n"), lines=120)
    assert text.startswith("Traceback (most recent call last):\n")
    assert with_stderr(MASKED, text).message.endswith("KeyError: 'text'")
    assert len(tail_of(log).splitlines()) == 20
