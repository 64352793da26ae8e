"""Text made to hide something: secrets spelled otherwise or at a bound, what is invisible, cells that are formulas."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import random
import sys
import unicodedata
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from replay.safety.redaction import Redactor, redacting
from replay.safety.secret_patterns import REDACTED
from replay.safety.text import csv_line, cut, one_line, printable

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def random_secret(seed: int) -> str:
    dice = random.Random(seed)
    alphabet = "abcXYZ0189" * 3 + "&<>\"'\\/+=%? #\n\t" + "éïäß—Å🔑"
    return "s" + "".join(dice.choices(alphabet, k=dice.randint(12, 60))) + "e"


SECRETS = ["s3cr&t'Pä\"ss\\wo\nrd +1/xyz", "naïve—Schlüssel🔑-42", "0123456789abcdef", *map(random_secret, range(7))]


def utf16_escapes(text: str) -> str:
    data = text.encode("utf-16-be")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))


def encoded(before: bytes, after: bytes) -> Callable[[str], str]:
    return lambda text: base64.b64encode(before + text.encode() + after).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps({"key": text})),
    "JSON with <, > and & escaped, as Go writes it": lambda text: (
        json.dumps(text)[1:-1].replace("<", "\\u003c").replace(">", "\\u003E").replace("&", "\\u0026")
    ),
    "JSON with \\/": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "every character \\u": utf16_escapes,
    "repr": repr,
    "ascii": ascii,
    "repr of bytes": lambda text: repr(text.encode()),
    "repr of repr": lambda text: repr(repr(text)),
    "HTML": html.escape,
    "HTML without quotes": lambda text: html.escape(text, quote=False),
    "HTML with decimal quotes": lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "HTML in ASCII": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace").decode(),
    "every character &#": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "every character &#x": lambda text: "".join(f"&#x{ord(character):04X};" for character in text),
    "URL": quote,
    "URL with / escaped": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "every byte %": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "NFC": lambda text: unicodedata.normalize("NFC", text),
    "JSON of NFD": lambda text: json.dumps(unicodedata.normalize("NFD", text))[1:-1],
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": encoded(b"", b""),
    "base64 behind a user": encoded(b"user:", b""),
    "base64 behind one byte": encoded(b"\xff", b"!"),
    "base64 in the middle": encoded(b'{"a":"', b'"}'),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"me:" + text.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_known_secret_is_taken_out_in_each_of_its_spellings(spelling: str) -> None:
    for secret in SECRETS:
        redactor, written = Redactor([secret, "another secret"]), SPELLINGS[spelling](secret)
        text = f"before {written} after"
        assert REDACTED in redactor.text(text), (secret, written)
        left = redactor.text(text).replace(REDACTED, "")
        assert len(left) <= len("before  after") + len(SPELLINGS[spelling]("")) + 16, (secret, left)
        assert REDACTED in json.dumps(redactor.json({"rows": [{"text": written}]})), (secret, written)


def test_a_text_without_the_secret_is_the_very_same_object() -> None:
    redactor = Redactor(SECRETS)
    for text in (
        "s3cr",
        "plain " * 40,
        "a%20b &amp; \\u0041 \\n c",
        "half a pair \ud800",
        base64.b64encode(b"x" * 99).decode(),
    ):
        assert redactor.text(text) is text


@pytest.mark.parametrize("offset", [*range(-41, 3, 4), -1, -20])
@pytest.mark.parametrize("length", [65_536, 65_530, 70_000, 100_000, 100])
def test_no_part_of_a_token_is_left_at_any_bound(offset: int, length: int) -> None:
    for place in {length, 65_536, 65_536 + 16_384, length + 16_384}:
        for before in ("x ", f"{TOKEN} "):
            start = place + offset
            text = (
                (before * (start // len(before) + 1))[:start].rsplit(" ", 1)[0].ljust(start) + TOKEN + " tail" * 9_000
            )
            assert not any(TOKEN[:10] in cut_text for cut_text in (cut(text, length), one_line(text, length)))


def test_a_secret_of_the_environment_is_not_left_in_part_either() -> None:
    secret = "0aZ" * 400
    with redacting(Redactor([secret])):
        for start in range(65_536 - 1300, 65_536, 100):
            text = " ".ljust(start, "=") + secret + "-" * 100_000
            assert "0aZ0aZ" not in cut(text, 65_536)
            assert "0aZ0aZ" not in one_line(text, 65_600)


def test_what_is_invisible_is_told_by_unicodes_properties() -> None:
    """Of the version that this Python knows, and a later one's blank fillers and variation selectors."""
    unsafe = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and chr(code) not in "\n\t"
    ]
    other_default_ignorable = [
        0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, 0x180B, 0x180C, 0x180D, 0x180F,
        *range(0xFFF0, 0xFFF9), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000), 0x2800,
    ]  # fmt: skip
    for code in (*unsafe, *other_default_ignorable):
        assert chr(code) not in printable(f"a{chr(code)}b"), hex(code)
    assert all(chr(code) in printable(chr(code)) for code in range(0x20, 0x7F))


def test_the_property_is_the_one_that_the_module_regex_knows() -> None:
    regex = pytest.importorskip("regex")
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    shown = [
        code
        for code in range(sys.maxunicode + 1)
        if ignorable.match(chr(code)) and chr(code) in printable(f"a{chr(code)}b")
    ]
    assert shown == []


@pytest.mark.parametrize(
    "text",
    ["❤️", "1️⃣ 2️⃣", "👨‍👩‍👧‍👦", "©️", "日本語", "é", "नमस्ते", "مرحبا", "한국어", "🏳️‍🌈", "Zoë"],
)
def test_what_people_write_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "text", ["a\ufe0f", "😀\ufe00\ufe01", "1\ufe0fx", "x\u200dy", "\U000e0100", "\u3164", "\u2800"]
)
def test_what_only_looks_like_a_part_of_an_emoji_is_escaped(text: str) -> None:
    assert printable(text) != text


LEADS = ["", "\n", "\t", "\r", " ", "\u00a0", "\u3000", "\n\n ", "\u2003", "\x00", "\ufeff", "\u200b"]
SIGNS = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫"]


@pytest.mark.parametrize("sign", SIGNS)
def test_no_cell_begins_with_a_sign_behind_whatever_a_spreadsheet_skips(sign: str) -> None:
    for lead in LEADS:
        line = csv_line(["first", f"{lead}{sign}HYPERLINK(1)", 2])
        [[_, cell, number]] = csv.reader(io.StringIO(line, newline=""))
        assert cell.startswith(("'", "\\")), (lead, cell)
        assert number == "2"


@pytest.mark.parametrize("text", ["\nplain", "\tplain", "\n"])
def test_no_cell_begins_with_a_line_break_or_a_tab(text: str) -> None:
    assert csv_line([text]).lstrip('"').startswith("'")


@pytest.mark.parametrize("text", ["plain", "a=b", "1-2", "x@y", "日本＝語", ""])
def test_other_cells_stand_as_they_are(text: str) -> None:
    assert next(csv.reader(io.StringIO(csv_line([text, "x"])))) == [text, "x"]
