"""Asks of a whole document, in one pass, whether it may hold a secret at all.

The patterns here take in all that those of `redaction` take out, and a little more: RE2, which reads a document once
and in linear time, knows no look-around. They are right for plain text and for JSON text alike, where a line end
and a quote are escaped. What they find is looked at closely by `redaction`; what they do not find holds none.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

__all__ = ["SENSITIVE_NAMES", "may_hold_secret"]

SENSITIVE_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)|pwd|(?:client|app|shared|webhook|totp)?[_-]?secret(?:[_-]?key)?"
    r"|(?:api|access|private|account|signing|encryption)[_-]?key|apikey|credential"
    r"|(?:access|refresh|auth|id|session|bearer|bot|api|user|personal[_-]?access|security)?[_-]?token"
)
"""A pattern of names under which a secret stands."""

_ESCAPED: Final = r"\\[bfnrt]|\\u00[0-9a-fA-F]{2}"
_GAP: Final = rf"(?:[^\w]|{_ESCAPED})*"
_WORD: Final = r"[\w\x{80}-\x{10FFFF}-]"
_PROBES: Final = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----",
    rf"(?i:authorization){_GAP}[:=]",
    rf"(?i:bearer)(?:[^\w]|20|{_ESCAPED})+[\w.~+/=%\x{{80}}-\x{{10FFFF}}-]{{8}}",
    rf"eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}\.",
    rf"sk-{_WORD}{{16}}",
    r"[sr]k_(?:live|test)_",
    r"gh[pousr]_[A-Za-z0-9]{20}",
    r"github_pat_",
    r"glpat-",
    r"A[KS]IA[A-Z0-9]{16}",
    r"xox[abeprs]-",
    rf"AIza{_WORD}{{35}}",
    r"hf_[A-Za-z0-9]{30}",
    r"npm_[A-Za-z0-9]{36}",
    rf"""["'](?i:(?:[a-z0-9]+[_-])*(?:{SENSITIVE_NAMES}))\\*["']{_GAP}:{_GAP}["']""",
    r"""://[^\s/:@"']*:[^\s/@"']+@""",
)


def may_hold_secret(text: str | bytes) -> bool:
    """Whether anything in a text, or in JSON text, may have the shape or the name of a secret.

    Args:
        text: text; bytes are UTF-8.
    """
    try:
        return _probe().search(text) is not None
    except UnicodeError:  # halves of surrogate pairs
        return True


@cache
def _probe() -> Any:
    import re2  # not at the top: `--help` takes out secrets too, and is quick

    options = re2.Options()
    options.never_capture = True
    return re2.compile("|".join(_PROBES), options)
