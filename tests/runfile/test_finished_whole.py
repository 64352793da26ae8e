"""The verdicts of a trajectory are written all or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.records import Call, CallResult, Outcome, Source, Step, TextAnswer, Trajectory, Verdict
from replay.runfile import Run
from replay.runfile.trajectory_queries import trajectory_record

CALL = Call(position="s1c1", name="files/read", arguments={"path": "a.txt"}, answer=TextAnswer(text="4711"))
TRAJECTORY = Trajectory(
    id="a", model="m", source=Source(file="a.json", format="test"), steps=(Step(calls=(CALL,)),), final_reply="4711"
)
VERDICT = Verdict(outcome=Outcome.SUCCESS, rule="success.answered", evidence="recorded", message="The tool answered.")


def test_begun_and_finished_at_one_go_nobody_sees_it_half_done(tmp_path: Path) -> None:
    edged = TRAJECTORY.model_copy(update={"edges": ()})
    with Run.open(tmp_path / "run.db") as run, Run.read(tmp_path / "run.db") as reader:
        with run.transaction():
            row = run.begin(TRAJECTORY, file="a.json", format="test", policy="p").row
            run.finish(row, edged, [CallResult(CALL, VERDICT)])
            assert reader.connection.execute("SELECT count(*) FROM trajectories").fetchone() == (0,)

        assert trajectory_record(reader.connection, row) == edged
        assert reader.connection.execute("SELECT done FROM trajectories").fetchone() == (1,)


def test_what_fails_while_it_is_finished_leaves_it_begun_and_unfinished(tmp_path: Path) -> None:
    def results() -> list[CallResult]:
        raise ValueError("the calls are gone")

    with Run.open(tmp_path / "run.db") as run:
        row = run.begin(TRAJECTORY, file="a.json", format="test", policy="p").row
        with pytest.raises(ValueError, match="gone"):
            run.finish(row, TRAJECTORY, (result for _ in range(1) for result in results()))

        assert run.connection.execute("SELECT done FROM trajectories").fetchone() == (0,)
        assert run.connection.execute("SELECT count(*) FROM calls").fetchone() == (0,)
        assert trajectory_record(run.connection, row) == TRAJECTORY
