"""Model and task from the name of a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from replay.errors import FormatError, UsageError

_FIELD = re.compile(r"\\{(\w+)\\}")
_M3BENCH_SUFFIX = re.compile(r"_test_mcp(_[a-z]+)?$")


@dataclass(frozen=True)
class FileNames:
    """How a file's name is read.

    Args:
        pattern: such as `{model}_{task}.json`, or None: the id is the stem, and so is the model, without the
            `_test_mcp_fuzzy` that M3-Bench appends.
    """

    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None and not {"model", "task"} & set(self._fields()):
            raise UsageError(
                f"--names {self.pattern!r}: expected {{model}} or {{task}} in it, e.g. '{{model}}_{{task}}.json'"
            )

    def model(self, path: str) -> str:
        """The model that a file's name tells."""
        return self._read(path).get("model") or _M3BENCH_SUFFIX.sub("", _stem(path))

    def task(self, path: str) -> str:
        """The task that a file's name tells: the id of the one trajectory in it."""
        return self._read(path).get("task") or _stem(path)

    def _fields(self) -> list[str]:
        return _FIELD.findall(re.escape(self.pattern or ""))

    def _read(self, path: str) -> dict[str, str]:
        if self.pattern is None:
            return {}
        unknown = [field for field in self._fields() if field not in {"model", "task"}]
        if unknown:
            raise UsageError(f"--names: unknown field {{{unknown[0]}}}; there are {{model}} and {{task}}")
        expression = _FIELD.sub(lambda match: f"(?P<{match[1]}>.+?)", re.escape(self.pattern))
        match = re.fullmatch(expression, Path(path).name)
        if match is None:
            raise FormatError(path, f"its name does not match --names {self.pattern!r}")
        return match.groupdict()


def _stem(path: str) -> str:
    name = Path(path).name
    for suffix in (".trajectory.json", ".jsonl", ".ndjson", ".json"):
        if name.endswith(suffix):
            return name[: -len(suffix)] or name
    return name
