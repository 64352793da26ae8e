"""Model and task from the names of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from replay.errors import FormatError, UsageError

FIELDS = ("model", "task", "run")

_FIELD = re.compile(r"\\{(\w+)\\}")
_M3BENCH_SUFFIX = re.compile(r"_test_mcp(_[a-z]+)?$")
_SUFFIXES = (".trajectory.json", ".jsonl", ".ndjson", ".json", ".eval")
_RUN = re.compile(r"(?:run|trial|seed|rep|attempt|epoch|pass)[-_]?\d+|\d{1,3}", re.IGNORECASE)
_MODEL_WORD = re.compile(
    r"\b(?:gpt|claude|gemini|gemma|deepseek|qwen|qwq|llama|mi[sx]tral|grok|kimi|glm|phi|command|nova|minimax|sonnet"
    r"|opus|haiku|o[1-9])(?=\b|[-_.\d])",
    re.IGNORECASE,
)
"""Words that names of models have and names of tasks have not: they tell which of two parts is the model."""


@dataclass(frozen=True)
class FileNames:
    """How a file's name is read.

    Args:
        pattern: such as `{model}_{task}.json` or `{model}/run-{run}/{task}.json`, or None: the id is the stem, and so
            is the model, without the `_test_mcp_fuzzy` that M3-Bench appends. Further fields are labels of the task.
    """

    pattern: str | None = None
    found: tuple[int, int, int] = field(default=(0, 0, 0), compare=False)
    """Of a pattern that was found: models, tasks, files."""

    def __post_init__(self) -> None:
        if self.pattern is not None and not {"model", "task"} & set(self._fields()):
            raise UsageError(
                f"--names {self.pattern!r}: expected {{model}} or {{task}} in it, e.g. '{{model}}_{{task}}.json'"
            )

    @staticmethod
    def found_in(paths: Sequence[str]) -> FileNames | None:
        """The pattern that explains all names: every file has a model and a task, and both come again in others."""
        return next(_candidates(paths), None)

    @property
    def was_found(self) -> bool:
        """Whether the pattern was found, and not given."""
        return any(self.found)

    def explain(self) -> str:
        """The pattern and what it finds, in one line."""
        models, tasks, files = self.found
        return f"{files} file names read as --names '{self.pattern}': {models} models, {tasks} tasks"

    def model(self, path: str) -> str:
        """The model that a file's name tells."""
        return self._read(path).get("model") or _M3BENCH_SUFFIX.sub("", _stem(path))

    def told_model(self, path: str) -> str | None:
        """The same where a pattern tells it, for a file that may be anything; else None."""
        with suppress(FormatError):
            return self._read(path).get("model")
        return None

    def task(self, path: str) -> str:
        """The task that a file's name tells: the id of the one trajectory in it."""
        return self._read(path).get("task") or _stem(path)

    def labels(self, path: str) -> dict[str, str]:
        """What the pattern's other fields, such as `{difficulty}`, tell of the task."""
        return {name: value for name, value in self._read(path).items() if name not in FIELDS}

    @property
    def label_names(self) -> tuple[str, ...]:
        """The fields of the pattern that are neither model, task nor run."""
        return tuple(name for name in self._fields() if name not in FIELDS)

    def _fields(self) -> list[str]:
        return _FIELD.findall(re.escape(self.pattern or ""))

    def _read(self, path: str) -> dict[str, str]:
        if self.pattern is None:
            return {}
        expression = _FIELD.sub(lambda match: f"(?P<{match[1]}>[^/]+?)", re.escape(self.pattern))
        depth = self.pattern.count("/") + 1
        match = re.fullmatch(expression, "/".join(path.removesuffix(".gz").split("/")[-depth:]))
        if match is None:
            raise FormatError(path, f"its name does not match --names {self.pattern!r}")
        return match.groupdict()


def _candidates(paths: Sequence[str]) -> Iterator[FileNames]:
    """Patterns that explain all names, the likeliest first."""
    rows = [(*path.removesuffix(".gz").split("/")[:-1], _stem(path)) for path in paths]
    suffixes = {_suffix(path) for path in paths}
    if len(rows) < 2 or len(suffixes) != 1 or len({len(row) for row in rows}) != 1:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    varying = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if not varying:
        return
    parts = [_literal_or_run(column) for column in columns[varying[0] :]]
    free = [place for place, part in enumerate(parts) if part is None]
    values = columns[varying[0] :]
    if len(free) == 2:
        names = _model_and_task(values[free[0]], values[free[1]])
        filled = [*parts]
        for place, name in zip(free, names, strict=True):
            filled[place] = name
        yield _found(filled, suffixes, values[free[names.index("{model}")]], values[free[names.index("{task}")]])
    elif free == [len(parts) - 1]:
        yield from _split_stem(parts, values[-1], suffixes)
    elif len(free) == 1:
        several_runs = any(part and "{run}" in part for part in parts)
        field_name = "{task}" if several_runs and not _look_like_models(values[free[0]]) else "{model}"
        filled = [field_name if part is None else part for part in parts]
        one = ["-"] * len(paths)
        models, tasks = (values[free[0]], one) if field_name == "{model}" else (one, values[free[0]])
        yield _found(filled, suffixes, models, tasks)


def _literal_or_run(column: Sequence[str]) -> str | None:
    if len(set(column)) == 1:
        return column[0].replace("{", "").replace("}", "")
    if all(map(_RUN.fullmatch, column)):
        heads = {re.sub(r"\d+$", "", value) for value in column}
        return f"{heads.pop()}{{run}}" if len(heads) == 1 else "{run}"
    return None


def _split_stem(parts: list[str | None], stems: Sequence[str], suffixes: set[str]) -> Iterator[FileNames]:
    """`{model}_{task}` or `{task}_{model}`, with a run at the end or without."""
    for separator in ("__", "_"):
        split = [stem.split(separator, 1) for stem in stems]
        if not all(len(pair) == 2 and all(pair) for pair in split):
            continue
        first, second = [pair[0] for pair in split], [pair[1] for pair in split]
        tail = ""
        runs = [value.rsplit(separator, 1) for value in second]
        if all(len(pair) == 2 and pair[0] and _RUN.fullmatch(pair[1]) for pair in runs):
            run = _literal_or_run([pair[1] for pair in runs])
            tail, second = f"{separator}{run}", [pair[0] for pair in runs]
        if not (tail or _is_grid(first, second)):
            continue
        names = _model_and_task(first, second)
        by_name = dict(zip(names, (first, second), strict=True))
        stem = separator.join(names) + tail
        yield _found([*parts[:-1], stem], suffixes, by_name["{model}"], by_name["{task}"])


def _is_grid(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether both parts come again with other partners; one model alone must look like a model."""
    models, tasks = len(set(first)), len(set(second))
    if models == 1:
        return tasks > 1 and bool(_MODEL_WORD.search(first[0]))
    return (
        1 < tasks < len(second)
        and models < len(first)
        and len(set(zip(first, second, strict=True))) * 3 > models * tasks
    )


def _model_and_task(first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """Which of two parts is the model: the one whose names look like models, else the one of fewer names."""
    looks = [_look_like_models(part) for part in (first, second)]
    model_first = looks[0] > looks[1] if looks[0] != looks[1] else len(set(first)) <= len(set(second))
    return ("{model}", "{task}") if model_first else ("{task}", "{model}")


def _look_like_models(values: Sequence[str]) -> float:
    """The share of names that have a word of a model's name in them."""
    return sum(bool(_MODEL_WORD.search(value)) for value in set(values)) / len(set(values))


def _found(parts: Sequence[str | None], suffixes: set[str], models: Sequence[str], tasks: Sequence[str]) -> FileNames:
    pattern = "/".join(part or "" for part in parts) + next(iter(suffixes))
    return FileNames(pattern, (len(set(models)), len(set(tasks)), len(models)))


def _stem(path: str) -> str:
    name = path.rsplit("/", 1)[-1].removesuffix(".gz")
    suffix = _suffix(path)
    return name[: -len(suffix)] or name if suffix else name


def _suffix(path: str) -> str:
    name = path.removesuffix(".gz")
    return next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
