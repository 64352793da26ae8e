"""Kinds of findings are stable ids: each is documented, and none is made that is not."""

from __future__ import annotations

import re
from pathlib import Path

import replay.diagnosis
from replay.diagnosis.finding_kinds import KINDS

SOURCE = Path(str(replay.diagnosis.__file__)).parent


def test_every_kind_that_the_code_makes_is_documented_and_no_other() -> None:
    names = set()
    for path in SOURCE.glob("*.py"):
        if path.name != "kinds.py":
            names |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', path.read_text("utf-8")))
    assert set(KINDS) <= names
    made = set()
    for path in SOURCE.glob("*.py"):
        made |= set(re.findall(r'kind="([a-z-]+)"', path.read_text("utf-8")))
    assert made <= set(KINDS)
