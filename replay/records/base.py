"""What every record shares: immutability, JSON types, and the version stamp of our own files."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` gives it."""


class Record(BaseModel):
    """A frozen value. Unknown fields are an error, so a typo in a file is seen and not dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


_AnyRecord = TypeVar("_AnyRecord", bound=Record)


def slim(record: _AnyRecord) -> _AnyRecord:
    """The same record; which of its fields were given is noted once for all of its kind.

    Of a session of a hundred thousand calls those notes are a third of the memory, and nothing of ours asks for them.
    """
    object.__setattr__(record, "__pydantic_fields_set__", _all_fields(type(record)))
    return record


@cache
def _all_fields(kind: type[Record]) -> set[str]:
    return set(kind.model_fields)
