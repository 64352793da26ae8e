"""What calls took: seconds and tokens by model, tool and task, and what was spent on failures and after a fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from replay.diagnosis.bearing import recorded_fault
from replay.records import Outcome
from replay.records.summary import Spending
from replay.runfile import Run, call_rows
from replay.runfile.compare_queries import file_paths
from replay.runfile.trajectory_queries import timed_record, trajectory_places

_ORDER: Final = ("all", "model", "tool", "task")


@dataclass
class _Sums:
    timed: int = 0
    seconds: float = 0.0
    failed_seconds: float = 0.0
    longest: float = 0.0
    tokens: int = 0
    failed_tokens: int = 0
    tokens_after_fault: int = 0

    def add_call(self, seconds: float, *, failed: bool) -> None:
        self.timed += 1
        self.seconds += seconds
        self.failed_seconds += seconds if failed else 0.0
        self.longest = max(self.longest, seconds)

    def add_reply(self, tokens: int, *, failed: bool, after_fault: bool) -> None:
        self.tokens += tokens
        self.failed_tokens += tokens if failed else 0
        self.tokens_after_fault += tokens if after_fault else 0


def spending_of(run: Run, files: Sequence[int] | None = None) -> tuple[Spending, ...]:
    """What the calls of a run took when they were recorded, as far as the files say it.

    Seconds are those that a recorded answer took, never the time since a session began. Tokens are those of the replies
    that issued calls; those of a reply with several calls are a model's and a task's, and of no tool.

    Args:
        run: open for reading or writing.
        files: the run's numbers of the files to take; by default all.

    Returns:
        Of all, of each model, tool and task, the longest first, then by tokens; nothing where no file says it.
    """
    sums: dict[tuple[str, str], _Sums] = defaultdict(_Sums)
    paths = {path for number, path in file_paths(run.connection).items() if files is None or number in files}
    for place in trajectory_places(run):
        if place.file not in paths:
            continue
        record = timed_record(run.connection, place.row)
        if record is None or not any(
            step.usage or any(call.seconds is not None for call in step.calls) for step in record.steps
        ):
            continue
        rows = {row.call: row for row in call_rows(run, trajectory=place.row)}
        owners = [("all", ""), ("model", record.model), ("task", record.task.id or record.id)]
        faulted = False
        for step in record.steps:
            own = [rows[call.position] for call in step.calls if call.position in rows]
            for call in step.calls:
                row = rows.get(call.position)
                if row is not None and call.seconds is not None:
                    for owner in (*owners, ("tool", row.tool or "(no name)")):
                        sums[owner].add_call(call.seconds, failed=row.outcome is not Outcome.SUCCESS)
            if step.usage is not None and own:
                tokens = (step.usage.input_tokens or 0) + (step.usage.output_tokens or 0)
                failed = all(row.outcome is not Outcome.SUCCESS for row in own)
                tools = [("tool", own[0].tool or "(no name)")] if len(own) == 1 else []
                for owner in (*owners, *tools):
                    sums[owner].add_reply(tokens, failed=failed, after_fault=faulted)
            faulted = faulted or any(recorded_fault(row) is not None for row in own)
    ranked = sorted(
        sums.items(), key=lambda item: (_ORDER.index(item[0][0]), -item[1].seconds, -item[1].tokens, item[0])
    )
    return tuple(Spending.model_validate({"by": by, "name": name, **vars(taken)}) for (by, name), taken in ranked)
