"""`replay align` on several processes or machines: texts become vectors there, and models are matched there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from anyio.from_thread import start_blocking_portal

from replay.alignment import Alignment, Results, Settings, align, signatures_to_embed
from replay.alignment.encoder import Encoder, find_model, load_encoder
from replay.alignment.judges import Judges
from replay.alignment.tasks import Reference
from replay.cluster.place import ClusterError, Place
from replay.cluster.pool import Job, open_pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS_A_JOB: Final = 256
"""The same whatever the workers: how texts are put together decides the last bit of their vectors."""

DoAll = Callable[[Iterable[Job]], None]
"""Has the workers do jobs, and returns when all are done."""


class CallJob:
    """A function that a worker calls, and who takes what it gives."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], take: Callable[[Any], None]) -> None:
        self._function, self._arguments, self._take = function, arguments, take

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and its arguments."""
        return self._function, self._arguments

    def not_for(self) -> Collection[str]:
        """Every worker may do it."""
        return ()

    def done(self, result: Any) -> Sequence[Job]:
        """Hand the result over."""
        self._take(result)
        return ()

    def failed(self, problem: Exception) -> Sequence[Job]:
        """End the command: no other worker would fare better."""
        raise ClusterError(f"a worker could not do its part: {type(problem).__name__}: {problem}") from problem


@contextmanager
def workers_at(place: Place, note: Callable[[str], None]) -> Iterator[DoAll]:
    """The workers of a place, for code that is not asynchronous."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_pool(place, note)) as pool:
        yield lambda jobs: portal.call(pool.do, iter(jobs))


class WorkersEncoder:
    """Makes vectors on workers.

    Args:
        model: as the user named it, or None for the default; each worker finds it by itself.
        do_all: of the workers.
    """

    def __init__(self, model: str | None, do_all: DoAll) -> None:
        self._model, self._do_all = model, do_all

    def encode(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[str], NDArray[np.float32]]]:
        """Batches of texts with their vectors."""
        found: list[tuple[Sequence[str], NDArray[np.float32]]] = []
        starts = range(0, len(texts), TEXTS_A_JOB)
        jobs = [
            CallJob(vectors_of, (self._model, texts[start : start + TEXTS_A_JOB]), found.extend) for start in starts
        ]
        self._do_all(jobs)
        yield from found


def vectors_of(model: str | None, texts: Sequence[str]) -> list[tuple[Sequence[str], NDArray[np.float32]]]:
    """The task that makes vectors."""
    return list(_encoder(model).encode(texts))


@cache
def _encoder(model: str | None) -> Encoder:
    return load_encoder(find_model(model))


def align_on_workers(
    do_all: DoAll,
    reference: Reference,
    results: Sequence[Results],
    vectors: Mapping[str, NDArray[np.float32]],
    settings: Settings,
    judges: Judges,
) -> list[Alignment]:
    """Align each model with the reference; gives them in the order of `results`."""
    found: dict[int, Alignment] = {}

    def job(number: int, one: Results) -> CallJob:
        needed = {text: vectors[text] for text in signatures_to_embed(reference, [one])}
        return CallJob(
            align, (reference, one, needed, settings, judges), lambda alignment: found.update({number: alignment})
        )

    do_all(job(number, one) for number, one in enumerate(results))
    return [found[number] for number in range(len(results))]
