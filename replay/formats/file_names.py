"""Model and task from the names of files.

A file's name is read by itself, never among its siblings: a trajectory has the same id whether its file is named alone,
with others, in a folder or in an archive. What the siblings show is only ever proposed, as a pattern for `--names`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.errors import FormatError, UsageError

FIELDS = ("model", "task", "run")
NO_MODEL = "(model not recorded)"
"""The model of what names none: neither its file's content nor its name does."""

_FIELD = re.compile(r"\\{(\w+)\\}")
_M3BENCH_SUFFIX = re.compile(r"_test_mcp(_[a-z]+)?$")
_SUFFIXES = (".trajectory.json", ".jsonl", ".ndjson", ".json", ".eval")
_RUN_WORDS = "run|trial|seed|rep|attempt|epoch|pass"
_RUN = re.compile(rf"(?:{_RUN_WORDS})[-_]?\d+|\d{{1,3}}", re.IGNORECASE)
_NAMED_RUN = re.compile(rf"(?:{_RUN_WORDS})[-_]?\d+", re.IGNORECASE)
_RUN_AT_END = re.compile(rf"(?:^|[-_. ])(?:(?:{_RUN_WORDS})[-_]?)?\d[\dTZ:._-]*$", re.IGNORECASE)
"""What folders of several runs differ in: `run-3`, `gpt-5_run1`, `results-2`, a date or a time."""
_TASK = re.compile(r"(?:task|question|query|case|problem|sample|item|instance|scenario|q)[-_]?\d+", re.IGNORECASE)
_GENERIC = re.compile(
    r"(?:messages?|trajector(?:y|ies)|traj|results?|out(?:put)?s?|conversations?|sessions?|logs?|events|traces?"
    r"|transcript|history|responses?)",
    re.IGNORECASE,
)
"""Names that every file of its kind has."""
_ARCHIVE = re.compile(r"\.(?:zip|tar|tgz|gz)$", re.IGNORECASE)
_MODEL_WORDS = (
    "gpt|claude|gemini|gemma|deepseek|qwen|qwq|llama|mi[sx]tral|grok|kimi|glm|phi|command|nova|minimax|sonnet|opus|haiku"
    "|o[1-9]"
)
_VARIANTS = "mini|nano|pro|flash|lite|turbo|large|medium|small|max|plus|chat|coder|codex|instruct|thinking|reasoner"
_MODEL_WORD = re.compile(rf"\b(?:{_MODEL_WORDS})(?=\b|[-_.\d])", re.IGNORECASE)
"""Words that names of models have and names of tasks have not: they tell which of two parts is the model."""
_MODEL_NAME = re.compile(rf"(?:{_MODEL_WORDS})(?:[-.]?v?\d[\w.]*|[-.](?:{_MODEL_WORDS}|{_VARIANTS}))+", re.IGNORECASE)
"""A name that is a model's and nothing else: `gpt-5-mini`, `claude-opus-4.1`."""


@dataclass(frozen=True)
class FileNames:
    """How a file's name is read.

    Args:
        pattern: such as `{model}_{task}.json` or `{model}/run-{run}/{task}.json`; further fields are labels of the
            task. With None the name is read by its own words, see `_read_stem`.
    """

    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None and not {"model", "task"} & set(self._fields()):
            raise UsageError(
                f"--names {self.pattern!r}: expected {{model}} or {{task}} in it, e.g. '{{model}}_{{task}}.json'"
            )

    def model(self, path: str) -> str:
        """The model that a file's name tells; `NO_MODEL` where it tells none."""
        read = _read_stem(_stem(path))[0] if self.pattern is None else self._read(path).get("model")
        return read or _read_folders(path)[0] or NO_MODEL

    def model_of_results(self, path: str) -> str:
        """The model of a file of many tasks, each with an id of its own: such a file is called like its model."""
        model = self.model(path)
        return _M3BENCH_SUFFIX.sub("", _stem(path)) if model == NO_MODEL else model

    def task(self, path: str) -> str:
        """The task that a file's name tells: the id of the one trajectory in it."""
        return self._read(path).get("task") or _read_folders(path)[1] or _read_stem(_stem(path))[1]

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


def _read_stem(stem: str) -> tuple[str | None, str]:
    """Model and task as the words between the `_` of a name tell them, without a run at its end; the whole name is the
    task where they do not.

    `model-a_task000` ends in a task; in `gpt-5_trip-budget` one part has a model's word and the others have none.
    """
    if _M3BENCH_SUFFIX.search(stem):
        return _M3BENCH_SUFFIX.sub("", stem), stem
    separator = "__" if "__" in stem else "_"
    parts = stem.split(separator)
    if len(parts) > 2 and _NAMED_RUN.fullmatch(parts[-1]):
        parts = parts[:-1]
    if not all(parts) or len(parts) < 2:
        return (stem if _MODEL_NAME.fullmatch(stem) else None), stem
    looks = [number for number, part in enumerate(parts) if _MODEL_WORD.search(part)]
    if looks and looks == list(range(looks[0], looks[-1] + 1)) and len(looks) < len(parts):
        model = parts[looks[0] : looks[-1] + 1]
        task = parts[: looks[0]] + parts[looks[-1] + 1 :]
    elif not looks and _TASK.fullmatch(parts[-1]):
        model, task = parts[:-1], parts[-1:]
    else:
        return None, stem
    return separator.join(model), separator.join(task)


def _read_folders(path: str) -> tuple[str | None, str | None]:
    """Model and task as the folders tell them in which a file lies: `gpt-5/run-1/trip-budget/messages.json`.

    Only a file whose own name says nothing is called like its folder; folders of runs are passed over.
    """
    if path == "-":
        return None, None
    *folders, _ = os.path.abspath(path).split("/")  # noqa: PTH100 - the path may go on in an archive
    inside = [folder for folder in folders if folder and not _RUN.fullmatch(folder)]
    task = inside.pop() if inside and _GENERIC.fullmatch(_stem(path)) and not _ARCHIVE.search(inside[-1]) else None
    return (inside[-1] if inside and _MODEL_NAME.fullmatch(inside[-1]) else None), task


def configuration(path: str, task: str) -> tuple[str, ...]:
    """The folders in which a file lies, but for those of its task and without what tells runs apart: a run of the same
    task that lies in others was made with something else (`github/klavis/run-1`, `github/official/run-1`).
    """
    folders = (_RUN_AT_END.sub("", folder) for folder in path.split("/")[:-1] if not folder.startswith(task))
    return tuple(filter(None, folders))


def proposed_pattern(paths: Sequence[str]) -> str | None:
    """What to say where the names of several files together tell more than each by itself, in one line."""
    found = next(_candidates(paths), None)
    if found is None or "{model}" not in found[0]:
        return None
    pattern, models, tasks = found
    return f"--names '{pattern}' ({models} model{'s' * (models != 1)}, {tasks} task{'s' * (tasks != 1)})"


_Found = tuple[str, int, int]
"""A pattern, and how many models and tasks it finds."""


def _candidates(paths: Sequence[str]) -> Iterator[_Found]:
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
        first, second = values[free[0]], values[free[1]]
        names = _model_and_task(first, second)
        parts[free[0]], parts[free[1]] = names
        by_name = dict(zip(names, (first, second), strict=True))
        yield _found(parts, suffixes, by_name["{model}"], by_name["{task}"])
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


def _split_stem(parts: list[str | None], stems: Sequence[str], suffixes: set[str]) -> Iterator[_Found]:
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
    by_words, by_count = _look_like_models(first) - _look_like_models(second), len(set(second)) - len(set(first))
    model_first = by_words > 0 if by_words else by_count >= 0
    return ("{model}", "{task}") if model_first else ("{task}", "{model}")


def _look_like_models(values: Sequence[str]) -> float:
    """The share of names that have a word of a model's name in them."""
    return sum(bool(_MODEL_WORD.search(value)) for value in set(values)) / len(set(values))


def _found(parts: Sequence[str | None], suffixes: set[str], models: Sequence[str], tasks: Sequence[str]) -> _Found:
    return "/".join(part or "" for part in parts) + next(iter(suffixes)), len(set(models)), len(set(tasks))


def _stem(path: str) -> str:
    name = path.rsplit("/", 1)[-1].removesuffix(".gz")
    suffix = _suffix(path)
    return name[: -len(suffix)] or name if suffix else name


def _suffix(path: str) -> str:
    name = path.removesuffix(".gz")
    return next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
