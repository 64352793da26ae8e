"""Of what was sent, only entries of earlier runs can stand for a place that is no more."""

from __future__ import annotations

import pytest

from replay.runfile import Run
from replay.runfile.effects_journal import EffectKey, Origin

KEY = EffectKey("mail", "send", "0" * 64, 1)
HERE, MOVED, NEW = (Origin(path, "t", "asked") for path in ("/here.json", "/moved.json", "/new.json"))


def gone(path, trajectory, key):
    return False


@pytest.mark.parametrize(("sent_later", "found"), [(False, True), (True, False)])
def test_a_call_that_was_sent_since_the_files_were_opened_stands_where_it_stood(tmp_path, sent_later, found):
    with Run.open(tmp_path / "run.db") as run:
        journal = run.journal()
        until = journal.last()
        row = journal.note(MOVED, KEY)
        until = until if sent_later else journal.last()
        sent = journal.find(HERE, KEY, gone, until)
        assert (sent is not None and sent.row == row) is found


def test_what_was_sent_for_this_very_place_is_found_whenever_it_was_sent(tmp_path):
    with Run.open(tmp_path / "run.db") as run:
        journal = run.journal()
        row = journal.note(NEW, KEY)
        found = journal.find(NEW, KEY, gone, 0)
        assert found is not None
        assert (found.row, found.answer) == (row, None)
