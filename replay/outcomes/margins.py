"""What stands above and below an answer and is no part of it: stamps, ids, times, advice, frames of a stack."""

from __future__ import annotations

import re

_ADVICE = re.compile(
    r"\W{0,6}(?:note|tips?|hints?|suggestions?|recommendations?|troubleshooting|next steps?|usage|examples?|please|try"
    r"|see|for (?:more|help|further|details)|to (?:fix|resolve|solve|avoid) this|how to fix|if (?:you|this|the|it)"
    r"|you (?:can|may|might|could|should)|make sure|ensure|consider|did you mean|warnings?|important|reminder)\b",
    re.IGNORECASE,
)
_LAST_LINE = re.compile(
    r"\s*at (?:async )?[\w.$<>\[\] ]{1,100} ?\([^()\n]{1,200}:\d+(?::\d+)?\)"  # a frame of a stack
    r"|\s*\[[a-z][\w ]{1,30}: [^\]\n]{1,80}\]"
    r"|\s*[-=_*~]{3,}\s*"
    r"|\W{0,4}(?i:(?:request|trace|correlation|session|call|job|operation|execution|message)[ _-]?(?:id|uuid)"
    r"|(?:(?:query|response|processing|execution|total|run)[ _-]?)?(?:time(?: taken)?|duration|latency)(?:[ _-]?ms)?"
    r"|elapsed(?: time)?|timestamp|took|(?:finished|completed|done) in)\W{0,3}[ \t]{0,4}[\w.:+-]{1,80}(?: ?\w{1,12})?"
    r"\W{0,3}"
)
"""A line that a host or a program writes below an answer about itself: where it was, when, and how long it took."""
_STAMP = re.compile(
    r"\s*[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[\])]?"
    r"[ \t]*[-|:]?[ \t]*(?:\[?(?:INFO|DEBUG|NOTICE)\]?[ \t]*[:|-]?[ \t]*)?(?=\S)"
)
_DATED_LINE = re.compile(r"\n[ \t]*[\[(]?\d{4}[-/]\d\d[-/]\d\d")
_MARK = re.compile(r"\s*(?:[-*>•]|[^\w\s!-~❌✗✘✖🚫⛔🛑⚠]️?)[ \t]+")
"""A bullet, or a picture that says nothing of how it went."""
_MAX_MARGINS = 12
_MAX_LOOK = 20_000


def without_margins(text: str) -> str:
    """The text without a stamp before it, and without the lines and paragraphs of advice that end it."""
    return _without_stamp(_without_last_lines(text))


def json_amid_margins(text: str) -> str | None:
    """The JSON object or array that is left of a text without its margins; None where there is none of either."""
    left = without_margins(text)
    marked = _MARK.match(left)
    left = (left[marked.end() :] if marked else left).strip()
    return left if left != text.strip() and (left[:1], left[-1:]) in (("{", "}"), ("[", "]")) else None


def _without_last_lines(text: str) -> str:
    for _ in range(_MAX_MARGINS):
        kept, _, line = text.rstrip().rpartition("\n")
        paragraphs, _, last = text.rstrip().replace("\r\n", "\n").rpartition("\n\n")
        if kept.strip() and _LAST_LINE.fullmatch(line.rstrip()):
            text = kept
        elif paragraphs.strip() and _ADVICE.match(last):
            text = paragraphs
        else:
            break
    return text


def _without_stamp(text: str) -> str:
    """The text without the moment at its beginning, unless its lines are those of a log."""
    stamp = _STAMP.match(text)
    if stamp is None or _DATED_LINE.search(text, stamp.end(), stamp.end() + _MAX_LOOK):
        return text
    return text[stamp.end() :]
