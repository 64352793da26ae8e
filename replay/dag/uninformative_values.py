"""Values that stand in many answers and many arguments without having flowed from one to the other."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from replay.dag.value_matching import is_number

__all__ = ["is_common_number", "is_id", "is_plain_word", "is_random", "is_uninformative", "significant_digits"]

_MIN_TEXT_LENGTH: Final = 4
_MIN_SIGNIFICANT_DIGITS: Final = 3

_COMMON_WORDS: Final = frozenset(
    """
    active admin advanced append array asc ascending ascii audio auto average base64 bash basic bicycle
    bicycling black blue body bold boolean bottom celsius center centre chinese close code column columns
    completed content contents count create critical csvs daily data date datetime debug default delete demo
    desc descending description directories directory disabled document documents docx done drive driving
    edit enabled english error errors example fahrenheit failed failure false file files folder french full
    german global gray green grey head high hour hours html http https image images imperial inactive info
    input insert integer italic item items japanese json kelvin label labels large latin-1 latin1 left link
    links list lists localhost long main markdown master medium message metric middle minute minutes month
    monthly months name names newest news none normal null number object okay oldest open options orange
    output page pages patch path paths pending plain popular post pptx private public purple put python
    queries query read recent relevance remove replace result results right root row rows sample search
    second seconds sheet sheet1 sheet2 sheet3 sheets shell short simple small source spanish standard start
    status stop string success summary table tables target test tests text time title today toml tomorrow
    top total transit true type types undefined update user users utf-8 utf8 utf_8 value values video view
    walk walking warn warning week weekly weeks white world write xlsx yaml year yearly years yellow
    yesterday
    """.split()  # noqa: SIM905 a list would take a line a word
)
_LONGEST_COMMON_WORD: Final = max(map(len, _COMMON_WORDS))
_COMMON_PATTERNS: Final = re.compile(
    r"""
    (?:text|image|application|audio|video|font|multipart|message|model)/[\w.+*-]+   # MIME types
    | [A-Za-z]{2,3}[-_][A-Za-z]{2,4}                                               # locales
    | (?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc|US)/[\w/+-]+
    | Sheet\d*
    | \$?[A-Z]{1,2}\$?\d{1,2}                                                      # a cell
    | [.\\/]+ | ~/? | \.{1,2}/
    | v?\d{1,2}(?:\.\d{1,2}){1,2}                                                  # a version
    """,
    re.VERBOSE,
)
_LONGEST_COMMON_PATTERN: Final = 9
"""Of those without a slash; of sheets there may be more."""
_MIN_RANDOM_LENGTH: Final = 6
_MIXED: Final = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")
_YEAR: Final = re.compile(r"(19|20)\d\d")
_NUMBERED: Final = re.compile(r"[A-Za-z]+[-_ ]?\d{1,3}")
_DIGIT_GROUPS: Final = re.compile(r"\d+(?:-\d+)+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


def significant_digits(number: str) -> int:
    """How many digits of a number carry information: not the zeros before and after."""
    mantissa = re.split("[eE]", number.lstrip("-"))[0]
    return len(mantissa.replace(".", "").strip("0"))


def is_uninformative(value: str) -> bool:
    """Too short, too round or too common to tell where it came from."""
    stripped = value.strip()
    if is_number(stripped):
        digits = significant_digits(stripped)
        return digits < _MIN_SIGNIFICANT_DIGITS and not (digits >= 2 and len(stripped) >= 6)
    if len(stripped) < _MIN_TEXT_LENGTH or not any(map(str.isalnum, stripped)):
        return True
    if len(stripped) <= _LONGEST_COMMON_WORD and stripped.lower() in _COMMON_WORDS:
        return True
    if len(stripped) > _LONGEST_COMMON_PATTERN and "/" not in stripped and not stripped.startswith("Sheet"):
        return False
    return _COMMON_PATTERNS.fullmatch(stripped) is not None


def is_plain_word(value: str) -> bool:
    """A single word in lower or upper case, such as an option of a tool would be."""
    return value.isalpha() and (value.islower() or value.isupper())


@lru_cache(maxsize=4096)
def is_id(value: str) -> bool:
    """Letters with digits, joined words, an address: what no one writes by chance."""
    if is_number(value):
        return len(value.replace(".", "").lstrip("-")) >= 6
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    joined = re.search(r"\w[_:.@]\w", value) is not None
    return is_random(value) or (
        " " not in value and has_letter and ((has_digit and len(value) >= 4) or (joined and len(value) >= 6))
    )


@lru_cache(maxsize=4096)
def is_random(value: str) -> bool:
    """A UUID, a hash, a long number, or letters and digits mixed."""
    if len(value) < _MIN_RANDOM_LENGTH:
        return False
    if _UUID.fullmatch(value) or (is_number(value) and "." not in value):
        return True
    if _NUMBERED.fullmatch(value):
        return False
    if _DIGIT_GROUPS.fullmatch(value):
        return sum(map(str.isdigit, value)) >= 12
    return " " not in value and _MIXED.search(value) is not None


@lru_cache(maxsize=4096)
def is_common_number(value: str) -> bool:
    """Likely to stand in a large answer by chance: a number of few digits, a year."""
    return is_number(value) and (significant_digits(value) < 5 or _YEAR.fullmatch(value) is not None)
