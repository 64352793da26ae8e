"""What a server wrote to stderr during a call: the reason of a failure that its answer does not give."""

from __future__ import annotations

import re
from typing import Final

from replay.records import Judgement, Outcome, Reason

_TRACE: Final = re.compile(
    r"^Traceback \(most recent call last\):|^\s+at .{1,200}\(?\S+:\d+:\d+\)?\s*$|^panic: |^goroutine \d+ \[|"
    r"^thread '.{0,80}' panicked at |^Exception in thread \"",
    re.MULTILINE,
)
"""How the stack trace of Python, JavaScript, Go, Rust or Java begins, or one of its lines looks."""
_ERROR: Final = re.compile(r"^(?:[\w.]+(?:Error|Exception|Interrupt|Exit)\b|panic: ).*", re.MULTILINE)
_MAX_LENGTH: Final = 16_384


def with_stderr(judgement: Judgement, stderr: str) -> Judgement:
    """The judgement of an answer in the light of what the server wrote meanwhile.

    An error that nothing in the answer explains, and a stack trace beside it: the server broke down, and the arguments
    are not to blame. An answer that does explain itself stands, since servers log traces of what they refuse too.
    """
    if judgement.certainty != "fallback" or _TRACE.search(stderr) is None:
        return judgement
    reason = f": {error}" if (error := _telling(stderr, judgement.message)) else ""
    return judgement.model_copy(
        update={
            "outcome": Outcome.INCONCLUSIVE,
            "reason": Reason.SERVER_FAULT,
            "rule": "replay.server-traceback",
            "certainty": "likely",
            "message": f"The answer gives no reason, and the server wrote a stack trace meanwhile{reason[:300]}",
        }
    )


def _telling(stderr: str, known: str) -> str | None:
    """The last error that says more than is known: a server's framework wraps it in one that repeats the answer."""
    errors = [str(error).strip() for error in _ERROR.findall(stderr)]
    new = [error for error in errors if (words := error.partition(": ")[2]) == "" or words not in known]
    return next(reversed(new or errors), None)


def shortened(stderr: str) -> str | None:
    """The end of what was written; None where it was nothing."""
    return stderr[-_MAX_LENGTH:] or None
