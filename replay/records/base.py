"""What every record shares: immutability, JSON types, and the version stamp of our own files."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` gives it."""


class Record(BaseModel):
    """A frozen value. Unknown fields are an error, so a typo in a file is seen and not dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
