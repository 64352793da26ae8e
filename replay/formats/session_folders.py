"""Where coding agents keep their sessions on a machine, and which of these files are sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from replay.errors import FormatError
from replay.formats.sources import InputFile, plain_file
from replay.records.time_span import utc


@dataclass(frozen=True)
class Agent:
    """A coding agent, and where it keeps its sessions unless it is told otherwise."""

    name: str
    folder: str
    """Below the home directory."""
    patterns: tuple[str, ...]
    """Of the session files in the folder."""
    variable: str = ""
    """The environment variable that moves the first directory of `folder`."""


OPENCODE: Final = "opencode"
AGENTS: Final = (
    Agent("Claude Code", ".claude/projects", ("**/*.jsonl",), "CLAUDE_CONFIG_DIR"),
    Agent("Codex", ".codex/sessions", ("**/*.jsonl",), "CODEX_HOME"),
    Agent("Gemini CLI", ".gemini/tmp", ("*/chats/*.json", "*/chats/*.jsonl")),
    Agent(OPENCODE, ".local/share/opencode/storage", ("session/*/*.json",)),
    Agent("Copilot CLI", ".copilot/session-state", ("*/events.jsonl", "*.jsonl")),
    Agent("Cursor", ".cursor/projects", ("*/agent-transcripts/**/*.jsonl",)),
)


class SessionFolder(NamedTuple):
    """A folder of sessions that is there."""

    agent: str
    path: Path
    files: tuple[InputFile, ...]
    """Those that were written since the time that was asked for."""


def session_folders(since: str = "", environment: Mapping[str, str] = os.environ) -> Iterator[SessionFolder]:
    """The folders of coding agents that are there, with their sessions.

    Args:
        since: a time as `utc` writes it; files that were not written since then are left out.
        environment: `HOME`, and the variables that move an agent's folder.
    """
    home = Path(environment.get("HOME") or Path.home())
    for agent in AGENTS:
        moved = environment.get(agent.variable)
        folder = Path(moved, *Path(agent.folder).parts[1:]) if moved else home / agent.folder
        if folder.is_dir():
            paths = sorted({path for pattern in agent.patterns for path in folder.glob(pattern)})
            files = map(partial(_opencode_session, folder) if agent.name == OPENCODE else plain_file, paths)
            recent = (file for file, path in zip(files, paths, strict=True) if _is_recent(path, since))
            yield SessionFolder(agent.name, folder, tuple(recent))


def _is_recent(path: Path, since: str) -> bool:
    try:
        return path.is_file() and (utc(path.stat().st_mtime) or "") >= since
    except OSError:
        return False


def _opencode_session(storage: Path, session: Path) -> InputFile:
    """A session of OpenCode, which keeps its messages and their parts in files of their own, as its export has it."""
    export = partial(_export, storage, session)
    return InputFile(str(session), export, lambda: len(export().getvalue()))


def _export(storage: Path, session: Path) -> BytesIO:
    messages = []
    for message in sorted((storage / "message" / session.stem).glob("*.json")):
        parts = sorted((storage / "part" / message.stem).glob("*.json"))
        messages.append({"info": _read(message), "parts": [_read(part) for part in parts]})
    return BytesIO(json.dumps({"info": _read(session), "messages": messages}).encode())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise FormatError(str(path), f"cannot be read: {problem}") from None
