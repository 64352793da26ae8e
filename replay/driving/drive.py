"""Drives a model through tasks: each in a sandbox of its own, recorded as it happens, gone on with after a crash."""

from __future__ import annotations

import base64
import json
import mimetypes
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

import anyio

from replay.chat import ChatModel, LimitReachedError, Limits, ModelError, ModelSettings
from replay.driving.protocols import PROTOCOLS, DriveProtocol, Ending, Work, prompt_version
from replay.driving.session import OfferedTool, ProgressLog, Session, Toolbox, offered_tools
from replay.errors import InputError, NoServerReachedError
from replay.formats.task_list import TaskDescription
from replay.interpreter import Fleet, Interpreter, Sandbox, ServerEvent
from replay.recorder.assembly import assemble
from replay.recorder.recording import Journal, Recording, RecordingInfo
from replay.recorder.recording_store import RecordedEntries, partial_of
from replay.records import Call, ReportedResult, Step, Task, Trajectory, Usage, texts_of
from replay.records.files import TrajectoryFile
from replay.safety.filesystem import write_atomically, write_json
from replay.safety.redaction import Redactor

_WORKSPACE: Final = "/workspace"
"""The path by which a model knows its workspace, where the fleet file gives none."""
_MAX_DISTRACTORS: Final = 10
"""MCP-Bench's."""
_MAX_IMAGE: Final = 20_000_000


@dataclass(frozen=True)
class DriveSettings:
    """How tasks are driven."""

    model: ModelSettings
    protocol: DriveProtocol
    turns: int
    limits: Limits
    jobs: int = 1
    allow_effects: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DrivenTask:
    """A task, where its trajectory goes, and the file that its images are beside."""

    task: TaskDescription
    target: Path
    tasks_file: Path

    @property
    def log(self) -> Path:
        """What is known of it until it is done."""
        return self.target.with_name(f".{self.target.name}.progress")


@dataclass
class Driven:
    """What was done."""

    done: int = 0
    problems: dict[str, list[str]] = field(default_factory=dict)
    """Tasks that are not finished, by the reason."""


class Driver:
    """Works on tasks, several at a time.

    Args:
        fleet: the servers.
        settings: how.
        redactor: takes the secrets out of what the model is told and of what is written.
        say: tells the user a sentence.
        on_event: told of servers that fail or are restarted.
    """

    def __init__(
        self,
        fleet: Fleet,
        settings: DriveSettings,
        redactor: Redactor,
        say: Callable[[str], None],
        on_event: Callable[[ServerEvent], None],
    ) -> None:
        self._workspace = fleet.workspace.recorded_as[0] if fleet.workspace.recorded_as else _WORKSPACE
        workspace = fleet.workspace.model_copy(update={"recorded_as": fleet.workspace.recorded_as or (_WORKSPACE,)})
        self._fleet = fleet.model_copy(update={"workspace": workspace})
        self._settings, self._redactor, self._say, self._on_event = settings, redactor, say, on_event
        self.driven = Driven()

    async def drive(self, tasks: Sequence[DrivenTask]) -> Driven:
        """Work on the tasks. What goes wrong with one is told, and the others go on.

        Raises:
            ModelError: the key is not there.
            NoServerReachedError: no server could be started.
        """
        model = ChatModel(self._settings.model, self._settings.limits)
        logs = await anyio.to_thread.run_sync(lambda: tempfile.mkdtemp(prefix="replay-drive-"))
        try:
            names = self._fleet.servers
            async with Interpreter(self._fleet, names=names, logs=Path(logs), on_event=self._on_event) as interpreter:
                await interpreter.start()
                tools = self._offered(interpreter)
                room = anyio.CapacityLimiter(self._settings.jobs)
                async with anyio.create_task_group() as group:
                    for task in tasks:
                        await room.acquire_on_behalf_of(task)
                        group.start_soon(self._one, task, interpreter, model, tools, room)
        finally:
            with anyio.CancelScope(shield=True):
                await model.close()
                await anyio.to_thread.run_sync(shutil.rmtree, logs, True)
        return self.driven

    def _offered(self, interpreter: Interpreter) -> list[OfferedTool]:
        reached = [name for name, server in interpreter.servers.items() if server.error is None]
        if not reached:
            raise NoServerReachedError("none of the fleet's servers could be started")
        tools, withheld = offered_tools(interpreter, reached, self._settings.allow_effects)
        if withheld:
            self._say(
                f"note: {len(withheld)} tools are not offered, since they may change something outside a sandbox; "
                f"--allow-effects SERVER offers them: {', '.join(withheld[:5])}{' ...' if len(withheld) > 5 else ''}"
            )
        return tools

    async def _one(
        self,
        task: DrivenTask,
        interpreter: Interpreter,
        model: ChatModel,
        tools: Sequence[OfferedTool],
        room: anyio.CapacityLimiter,
    ) -> None:
        try:
            await self._work_on(task, interpreter, model, self._toolbox(task.task, tools))
            self.driven.done += 1
        except (LimitReachedError, ModelError, InputError) as error:
            self.driven.problems.setdefault(str(error), []).append(task.task.id)
        finally:
            room.release_on_behalf_of(task)

    def _toolbox(self, task: TaskDescription, tools: Sequence[OfferedTool]) -> Toolbox:
        """All tools; where a task names its servers those of them, and for MCP-Bench of distractors beside them."""
        if not task.servers:
            return Toolbox(tools)
        wanted = set(task.servers)
        if self._settings.protocol == "mcpbench":
            others = [name for name in (*task.distractors, *self._fleet.servers) if name not in wanted]
            wanted |= set(list(dict.fromkeys(others))[:_MAX_DISTRACTORS])
        return Toolbox(tool for tool in tools if tool.server in wanted)

    async def _work_on(self, task: DrivenTask, interpreter: Interpreter, model: ChatModel, toolbox: Toolbox) -> None:
        """Do one task and write its trajectory; one that is broken off leaves its log, and is gone on with."""
        question, finished = task.task.question, False
        log = ProgressLog(task.log)
        partial = partial_of(task.target)
        partial.unlink(missing_ok=True)
        journal = Journal(partial)
        try:
            info = RecordingInfo(task.task.id, self._settings.model.model, question)
            recording = Recording(journal, info, self._redactor, self._say)
            for server in interpreter.servers.values():
                recording.server(server.model_dump(mode="json"))
            began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            async with interpreter.sandbox(task.task.id) as sandbox:
                session = Session(model, sandbox, self._fleet, toolbox, recording, log, self._redactor, self._workspace)
                content = self._content(task, sandbox)
                work = Work(question, content, self._settings.turns)
                ending = await PROTOCOLS[self._settings.protocol](session, work)
            self._write(task, partial, ending, session.usage, began)
            finished = True
        finally:
            journal.close(remove=True)
            log.close(finished=finished)

    def _content(self, task: DrivenTask, sandbox: Sandbox) -> Any:
        """The question, with the task's images: they lie in the workspace, and are shown to the model."""
        parts: list[dict[str, Any]] = []
        lines = [task.task.question]
        for name in task.task.images:
            source = task.tasks_file.parent / name
            if not source.is_file() or source.stat().st_size > _MAX_IMAGE:
                self._say(f"note: {task.task.id}: the image {name} is not there, or is too large; it is left out")
                continue
            shutil.copyfile(source, sandbox.workspace / source.name)
            lines.append(f"[image {PurePosixPath(self._workspace) / source.name}]")
            kind = mimetypes.guess_type(source.name)[0] or "image/png"
            data = base64.b64encode(source.read_bytes()).decode()
            parts.append({"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}})
        text = "\n".join(lines)
        return [{"type": "text", "text": text}, *parts] if parts else text

    def _write(self, task: DrivenTask, partial: Path, ending: Ending, usage: Usage, began: str) -> None:
        recorded = assemble(RecordedEntries(partial), task.target.name)
        protocol = self._settings.protocol
        details: dict[str, Any] = {"protocol": protocol, "own_prompt": prompt_version(protocol), "ended": ending.how}
        about = Task(question=recorded.task.question, type=task.task.type, images=task.task.images)
        reply = self._redactor.text(ending.reply) if ending.reply is not None else None
        update: dict[str, Any] = {"task": about, "final_reply": reply, "usage": usage, "started_at": began}
        update["reported"] = ReportedResult(details=details)
        write_json(recorded.model_copy(update=update), task.target, private=True)


def finished(tasks: Sequence[DrivenTask]) -> Iterator[Trajectory]:
    """The trajectories of the tasks that are done."""
    for task in tasks:
        if task.target.exists():
            yield TrajectoryFile.model_validate_json(task.target.read_bytes())


def write_m3_results(trajectories: Iterable[Trajectory], path: Path) -> None:
    """Write the file, whole or not at all."""
    records = [_record(trajectory) for trajectory in trajectories]
    write_atomically(path, json.dumps(records, ensure_ascii=False, indent=1) + "\n", "replace", private=True)


def _record(trajectory: Trajectory) -> dict[str, Any]:
    usage = trajectory.usage
    readable = [step for step in trajectory.steps if not _is_unreadable(step)]
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens} if usage else None
    return {
        "id": trajectory.id,
        "model": trajectory.model,
        "type": trajectory.task.type,
        "image": list(trajectory.task.images) or None,
        "question": trajectory.task.question,
        "steps": [
            {"step": number, "calls": [_call(call) for call in step.calls]} for number, step in enumerate(readable, 1)
        ],
        "dialogue": [{"prepare": step.text, "work": _work(step)} for step in trajectory.steps],
        "final_reply": trajectory.final_reply,
        **({"usage": tokens} if tokens else {}),
    }


def _is_unreadable(step: Step) -> bool:
    return all(call.unreadable == "call" for call in step.calls)


def _work(step: Step) -> dict[str, Any]:
    """What a round of the dialogue called; one whose reply could not be read has no call, and its text."""
    if _is_unreadable(step):
        return {"tool_calls": [], "raw": step.calls[0].raw if step.calls else None}
    return {"tool_calls": [_written(call) for call in step.calls]}


def _written(call: Call) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.raw if call.unreadable == "arguments" else call.arguments}


def _call(call: Call) -> dict[str, Any]:
    return {**_written(call), "result": None if call.answer is None else "\n".join(texts_of(call.answer))}
