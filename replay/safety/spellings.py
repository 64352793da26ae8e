"""The ways in which a known secret may stand in a text, as one pattern that RE2 matches in linear time.

Each character may stand as itself, or as an escape of JSON, Python, HTML or a URL; the whole in Unicode's composed or
decomposed form, in hexadecimal, or in base64, there also in the middle of what was encoded with it.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from html.entities import codepoint2name
from typing import Any, Final
from unicodedata import normalize

from replay.json_values import without_lone_surrogates

_CONTROL_ESCAPES: Final = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}


@lru_cache(maxsize=16)
def pattern_of(secrets: frozenset[str]) -> Any:
    """A compiled pattern that matches each spelling of each secret, the longest first; None without any."""
    import re2  # not at the top: `--help` takes out secrets too, and is quick

    if not secrets:
        return None
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    longest_first = sorted(map(without_lone_surrogates, secrets), key=lambda secret: (-len(secret), secret))
    return re2.compile("|".join(spelling for secret in longest_first for spelling in _spellings(secret)), options)


def _spellings(secret: str) -> list[str]:
    forms = dict.fromkeys((secret, normalize("NFC", secret), normalize("NFD", secret)))
    data = secret.encode()
    return ["".join(map(_character, form)) for form in forms] + [f"(?i:{data.hex()})", *_base64(data)]


@lru_cache(maxsize=512)
def _character(character: str) -> str:
    r"""A character as itself or escaped. In JSON within JSON there is more than one backslash before it."""
    code = ord(character)
    units = character.encode("utf-16-be").hex()
    data = character.encode()
    name = codepoint2name.get(code)
    forms = [
        "".join(f"%(?i:{byte:02x})" for byte in data),
        f"&#0*{code};|&#[xX]0*(?i:{code:x});",
        "".join(rf"\\+[uU](?:0000)?(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)),
        rf"\\+U(?i:{code:08x})",
        "".join(rf"\\+x(?i:{byte:02x})" for byte in data),
    ]
    forms += [rf"\\+x(?i:{code:02x})"] if code <= 0xFF else []
    forms += [f"&{name};"] if name else ["&apos;"] if character == "'" else []
    forms += [r"\+|&nbsp;"] if character == " " else []
    if character in _CONTROL_ESCAPES:
        forms.append(rf"\\+{_CONTROL_ESCAPES[character]}")
    if character == "\\":
        return rf"(?:{'|'.join(forms)}|\\+)"
    return rf"\\*(?:{'|'.join([*forms, re.escape(character)])})"  # last: `%` begins its own escape


def _base64(data: bytes) -> list[str]:
    """What stands in base64 of anything that holds these bytes: the groups that depend on nothing around them."""
    cores = []
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        whole = len(encoded) if (before + len(data)) % 3 == 0 else len(encoded) - 1
        core = encoded[(0, 2, 3)[before] : whole]
        cores.append("".join({"+": "[+-]", "/": r"(?:\\*/|_|%2[fF])"}.get(character, character) for character in core))
    return cores
