"""Asks judges about task runs, reads their replies, and keeps each at once: what was answered is never asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import anyio

from replay.chat import ChatModel, ChatReply, LimitReachedError, Limits, ModelError, ModelSettings
from replay.judging.prompts import Asked, RatedRun, prompts_for
from replay.records.rating import Protocol, Rating, RatingKey
from replay.runfile import Run
from replay.runfile.task_runs import is_rated, save_rating
from replay.safety.redaction import Redactor

_CHARACTERS_A_TOKEN: Final = 4
"""For the estimate of `--dry-run` alone; what was used is counted as the endpoint says."""
_FAILURES_IN_A_ROW: Final = 5
"""After so many a judge is asked no more."""


class RatingRequest(NamedTuple):
    """One prompt for one judge."""

    key: RatingKey
    model: str
    asked: Asked


@dataclass
class AskingProgress:
    """How far the asking is."""

    total: int = 0
    done: int = 0
    unreadable: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Requests that got no reply, or were not made, by the reason."""

    @property
    def missing(self) -> int:
        """What has no reply that counts."""
        return self.unreadable + sum(self.failed.values())


def open_requests(
    run: Run, task_runs: Iterable[RatedRun], protocol: Protocol, judges: Mapping[str, ModelSettings], clean: Redactor
) -> Iterator[RatingRequest]:
    """What must be asked yet: every prompt and judge whose reply the run does not hold.

    Args:
        run: the run file.
        task_runs: what is judged.
        protocol: whose rubric.
        judges: by name.
        clean: takes the secrets out of what is sent.
    """
    for task_run in task_runs:
        for asked in prompts_for(task_run, protocol):
            sent = asked.model_copy(update={"user": clean.text(asked.user)})
            for name, settings in judges.items():
                key = RatingKey(
                    file=task_run.file,
                    trajectory=clean.text(task_run.trajectory.id),
                    protocol=protocol,
                    prompt=sent.prompt,
                    judge=name,
                    shuffle=sent.shuffle,
                )
                if not is_rated(run.connection, key, settings.model, sent.digest):
                    yield RatingRequest(key, clean.text(task_run.trajectory.model), sent)


def estimated_tokens(request: RatingRequest) -> int:
    """About how many tokens a prompt has."""
    return len(request.asked.text) // _CHARACTERS_A_TOKEN


async def ask_all(
    run: Run,
    requests: list[RatingRequest],
    judges: Mapping[str, ModelSettings],
    limits: Limits,
    progress: AskingProgress,
    *,
    jobs: int,
    say: Callable[[str], None],
) -> None:
    """Ask all, a few at a time; what fails is said once, counted, and left for the next time.

    Args:
        run: where replies are kept.
        requests: what to ask.
        judges: by name.
        limits: of the whole.
        progress: taken down here.
        jobs: requests under way at a time.
        say: tells the user a sentence.
    """
    progress.total = len(requests)
    room = anyio.CapacityLimiter(jobs)
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        asking = {name: _Judge(name, run, limits, progress, say) for name in judges}
        for name, settings in judges.items():
            await asking[name].open(settings, stack)
        for request in requests:
            await room.acquire_on_behalf_of(request)
            tasks.start_soon(_ask_in_turn, asking[request.key.judge], request, room)


async def _ask_in_turn(judge: _Judge, request: RatingRequest, room: anyio.CapacityLimiter) -> None:
    try:
        await judge.rate(request)
    finally:
        room.release_on_behalf_of(request)


class _Judge:
    """One judge at work."""

    def __init__(
        self, name: str, run: Run, limits: Limits, progress: AskingProgress, say: Callable[[str], None]
    ) -> None:
        self._name, self._run, self._limits, self._progress, self._say = name, run, limits, progress, say
        self._model: ChatModel | None = None
        self._out_of_service: str | None = None
        """Why it is asked no more."""
        self._failures = 0

    async def open(self, settings: ModelSettings, stack: AsyncExitStack) -> None:
        """Get ready to ask; a key that is missing is told like any other failure."""
        try:
            self._model = ChatModel(settings, self._limits)
        except ModelError as error:
            self._give_up(str(error))
        else:
            stack.push_async_callback(self._model.close)

    async def rate(self, request: RatingRequest) -> None:
        """Ask, once again where the reply cannot be read, and keep what came."""
        if self._model is None or self._out_of_service is not None:
            self._fail(self._out_of_service or "")
            return
        try:
            rating = await self._rating(self._model, request)
        except LimitReachedError as error:
            self._give_up(str(error))
            self._fail(str(error))
        except ModelError as error:
            self._failures += 1
            if error.lasting or self._failures >= _FAILURES_IN_A_ROW:
                self._give_up(str(error))
            self._fail(str(error))
        else:
            self._failures = 0
            with self._run.transaction() as db:
                save_rating(db, rating)
            self._progress.done += 1
            self._progress.unreadable += rating.scores is None

    async def _rating(self, model: ChatModel, request: RatingRequest) -> Rating:
        asked = request.asked
        messages = [{"role": "system", "content": asked.system}, {"role": "user", "content": asked.user}]
        problem, replies = None, []
        for _ in range(2):
            reply = await model.ask(messages, as_json=True)
            replies.append(reply)
            try:
                scores = scores_in(reply.text, asked)
            except ValueError as error:
                problem = str(error)
            else:
                return _rating_of(request, model.settings, replies, scores, None)
        return _rating_of(request, model.settings, replies, None, problem)

    def _give_up(self, why: str) -> None:
        if self._out_of_service is None:
            self._out_of_service = why
            self._say(f"judge {self._name} is not asked any more: {why}")

    def _fail(self, why: str) -> None:
        self._progress.failed[why] = self._progress.failed.get(why, 0) + 1


def _rating_of(
    request: RatingRequest,
    settings: ModelSettings,
    replies: list[ChatReply],
    scores: dict[str, float] | None,
    problem: str | None,
) -> Rating:
    """The record of a judgement; tokens and time are those of all its replies."""
    counted = [(reply.input_tokens, reply.output_tokens) for reply in replies]
    return Rating(
        **request.key.model_dump(),
        model=request.model,
        judge_model=settings.model,
        digest=request.asked.digest,
        prompt_text=request.asked.text,
        reply=replies[-1].text,
        scores=scores,
        problem=problem,
        input_tokens=_sum(tokens for tokens, _ in counted),
        output_tokens=_sum(tokens for _, tokens in counted),
        seconds=round(sum(reply.seconds for reply in replies), 3),
        asked_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def scores_in(reply: str, asked: Asked) -> dict[str, float]:
    """The scores of a reply, by dimension; those of pairs as `R1P2`.

    Raises:
        ValueError: it holds no JSON object with all of them, or one is not within the scale; says which.
    """
    value = _first_object(reply)
    if value is None:
        raise ValueError("there is no JSON object in the reply")
    if asked.pairs is not None:
        return _pairs(value, asked)
    missing = [name for name in asked.dimensions if name not in value]
    if missing:
        raise ValueError(f"no score for {', '.join(missing)}")
    return {name: _score(value[name], name, asked) for name in asked.dimensions}


def _first_object(reply: str) -> dict[str, Any] | None:
    """The first JSON object in a text."""
    decoder, start = json.JSONDecoder(), reply.find("{")
    while start >= 0:
        with suppress(ValueError, RecursionError):
            return dict(decoder.raw_decode(reply, start)[0])
        start = reply.find("{", start + 1)
    return None


def _pairs(value: dict[str, Any], asked: Asked) -> dict[str, float]:
    assert asked.pairs is not None
    rows, columns = asked.pairs
    matrix = value.get("scores")
    if not isinstance(matrix, list) or len(matrix) != rows:
        raise ValueError(f'"scores" must have {rows} rows')
    for number, row in enumerate(matrix, 1):
        if not isinstance(row, list) or len(row) != columns:
            raise ValueError(f'row {number} of "scores" must have {columns} numbers')
    return {
        f"R{row}P{column}": _score(matrix[row - 1][column - 1], f"R{row}P{column}", asked)
        for row in range(1, rows + 1)
        for column in range(1, columns + 1)
    }


def _score(value: Any, name: str, asked: Asked) -> float:
    least, most = asked.scale
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is not a number")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value:g}, outside {least:g} to {most:g}")
    if asked.whole_numbers and value != int(value):
        raise ValueError(f"{name} is {value:g}, not a whole number")
    return float(value)
