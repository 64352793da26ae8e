"""Kinds of findings are stable ids: each is documented, and none is made that is not."""

from __future__ import annotations

import re
from pathlib import Path

import replay.diagnosis
from tests.scripts import script

KINDS = script("generate").KINDS
SOURCE = Path(str(replay.diagnosis.__file__)).parent


def test_every_kind_that_the_code_makes_is_documented_and_no_other() -> None:
    names, made = set(), set()
    for path in SOURCE.glob("*.py"):
        text = path.read_text("utf-8")
        names |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', text))
        made |= set(re.findall(r'kind="([a-z-]+)"', text))
    assert set(KINDS) <= names
    assert made <= set(KINDS)
