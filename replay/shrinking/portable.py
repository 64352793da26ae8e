"""How a server starts on another machine: its scripts beside the fleet file, no path of this one, and what it needs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.safety.filesystem import write_atomically
from replay.safety.redaction import Redactor

SCRIPTS: Final = "servers"
"""The folder of the copied scripts."""
_SUFFIXES: Final = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb"})
_MAX_SIZE: Final = 1_000_000
_IMPORT: Final = re.compile(r"^\s*(?:from\s+([A-Za-z_]\w*)|import\s+([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*))", re.M)
_BEHIND: Final = {"uvx": "uv", "uv": "uv", "npx": "Node.js", "npm": "Node.js", "node": "Node.js", "docker": "Docker"}
"""What brings a command."""


def portable_command(command: str, directory: Path, new_directory: Path) -> str:
    """The command without its directory, where it is found by its name elsewhere too; else relative to the new one."""
    if os.sep not in command:
        return command
    name = Path(command).name
    if re.fullmatch(r"python[\d.]*", name):
        return "python3"
    return name if shutil.which(name) is not None else os.path.relpath(directory / command, new_directory)


class Scripts:
    """The scripts of servers, copied beside a reproduction.

    Args:
        directory: of the reproduction.
        secrets: taken out of what is copied.
    """

    def __init__(self, directory: Path, secrets: tuple[str, ...]) -> None:
        self._directory, self._secrets = directory, secrets
        self.copied: dict[Path, Path] = {}
        """By where it was."""
        self._packages: dict[str, None] = {}

    def copy(self, script: Path) -> str | None:
        """Copy a script, with the modules beside it that it imports.

        Returns:
            Its path there; None where it is no script, or is a part of something larger.
        """
        if script.suffix not in _SUFFIXES or not script.is_file() or script.stat().st_size > _MAX_SIZE:
            return None
        script = script.resolve()
        if script not in self.copied:
            text = script.read_text("utf-8", errors="replace")
            if any(script.with_name(module).is_dir() for module in _imported(text)):
                return None
            text = Redactor(self._secrets).text(text)
            target = self.copied[script] = self._free(script.name)
            target.parent.mkdir(exist_ok=True)
            write_atomically(target, text)
            shutil.copymode(script, target)
            for module in _imported(text) if script.suffix == ".py" else ():
                if (beside := script.with_name(f"{module}.py")).is_file():
                    self.copy(beside)
                elif module not in sys.stdlib_module_names:
                    self._packages[module] = None
        return os.path.relpath(self.copied[script], self._directory)

    def _free(self, name: str) -> Path:
        folder, number = self._directory / SCRIPTS, 1
        while folder / name in self.copied.values():
            number += 1
            folder = self._directory / f"{SCRIPTS}-{number}"
        return folder / name

    def needs(self, command: str) -> Iterator[str]:
        """What must be installed for a command, and for the scripts so far."""
        name = Path(command).name
        yield "Python" if name.startswith("python") else _BEHIND.get(name, name)
        yield from (f"the Python package {package}" for package in self._packages)


def _imported(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        yield from re.findall(r"\w+", match[1] or match[2])
