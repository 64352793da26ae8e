"""Kills at random moments, with edits and renames between; `python -m tests.hostile.kills 200` for the figures."""

from __future__ import annotations

import pytest

from tests.hostile.kills import tell_stories


@pytest.mark.hostile
@pytest.mark.slow
def test_kills_at_random_moments_send_nothing_twice_and_leave_nothing() -> None:
    stories = tell_stories(40, chance=16)
    assert sum(story.kills.total() for story in stories) == 40
    assert [problem for story in stories for problem in story.problems] == []
