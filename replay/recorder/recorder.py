"""Recording in an agent's own code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

from replay.recorder.notices import print_notice
from replay.recorder.recording import RecordingInfo
from replay.recorder.recording_store import RecordingStore
from replay.recorder.wrapped_session import WrappedSession
from replay.safety.redaction import Redactor, secrets_around

SessionT = TypeVar("SessionT")


class StepContext:
    """A step that was begun by hand."""

    def __init__(self, mark: Callable[[bool], None]) -> None:
        self._mark = mark

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mark(False)


class Recorder:
    """Records one trajectory; a context manager, also an asynchronous one.

    ```python
    with Recorder("run.trajectory.json", model="gpt-5", task=question) as recorder:
        async with Client(server) as client:
            session = recorder.wrap(client)
            recorder.note(reply.text)
            await session.call_tool("search", {"query": "..."})
    ```

    Args:
        path: the trajectory file; where it is there already, the next free name (`run-2.trajectory.json`).
        model: the model's name.
        task: the question that it was asked.
        id: the trajectory's id; by default the file's name.
        redact: regular expressions; what they match is not written.
        secrets: values that are not written, in whatever spelling.

    Raises:
        InputError: the file cannot be written.
        UsageError: another recorder is writing to it, or a pattern is not a regular expression.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        model: str = "unknown",
        task: str | None = None,
        id: str = "",  # noqa: A002
        redact: Iterable[str] = (),
        secrets: Iterable[str] = (),
    ) -> None:
        self._store = RecordingStore(
            Path(path),
            RecordingInfo(id, model, task),
            Redactor({*secrets, *secrets_around(os.environ)}, redact),
            print_notice,
        )
        self._recording = self._store.begin()
        self._recording.has_content = True
        self._server_names: list[str] = []
        self._path: Path | None = None

    @property
    def path(self) -> Path | None:
        """The file that was written; None until the recorder is closed."""
        return self._path

    def wrap(self, session: SessionT, server: str | None = None) -> SessionT:
        """A drop-in for a session (`mcp.Client`, `ClientSession`) that records its tool calls.

        Args:
            session: anything with an asynchronous `call_tool(name, arguments)`.
            server: the server's name in your fleet file; by default the name that it gives of itself.
        """
        return cast("SessionT", WrappedSession(session, self._recording, server, self._server_names))

    def note(self, text: str, *, unparsed: bool = False) -> None:
        """Keep what the model wrote; it goes with the step that follows.

        Args:
            text: the model's raw text.
            unparsed: the text is a call that could not be read, and so is never sent.
        """
        if unparsed:
            self._recording.unparsed(text)
        else:
            self._recording.note(text)

    def unparsed(self, text: str) -> None:
        """Record a call that could not be read, and so is never sent."""
        self._recording.unparsed(text)

    def step(self) -> StepContext:
        """Begin a step by hand: all calls up to the next mark are in it, whatever their timing.

        As a context manager the step ends with it, and from there on the timing decides again.
        """
        self._recording.step()
        return StepContext(self._recording.step)

    def close(self) -> Path | None:
        """Write the trajectory file.

        Returns:
            The file that was written.
        """
        if self._path is None:
            self._path = self._store.finish(self._recording)
            self._store.close()
        return self._path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
