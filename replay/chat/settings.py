"""Which models are asked, and where: the file of `--judges`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from replay.errors import InputError
from replay.records.base import Record
from replay.safety.filesystem import read_small_file

_MAX_BYTES: Final = 1_000_000


class ModelSettings(Record):
    """One model at one endpoint of the OpenAI protocol."""

    base_url: str
    """Up to and with `/v1`."""
    model: str
    """Its name at the endpoint."""
    api_key_env: str | None = None
    """The variable that holds the key; None for an endpoint that wants none."""
    temperature: float | None = None
    """Left out of the request where None, and where the model refuses it."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds without anything from the endpoint after which a request has failed."""
    retries: int = Field(default=4, ge=0)
    """How often a request is repeated after a fault of the endpoint or the network, or when it limits the rate."""
    max_output_tokens: int | None = Field(default=None, gt=0)
    stream: bool = False
    """Take the reply piece by piece: for endpoints that cut long silences off."""

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value


class _ModelsFile(Record):
    version: Literal[1]
    judges: dict[str, ModelSettings] = Field(min_length=1)


def read_models(path: Path) -> dict[str, ModelSettings]:
    """Read a file of judges: `{version: 1, judges: {NAME: {base_url, model, api_key_env, ...}}}`.

    Raises:
        InputError: it cannot be read, or has a mistake in it.
    """
    try:
        data: Any = yaml.safe_load(read_small_file(path, _MAX_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(str(path), f"is not YAML: {str(error).splitlines()[0]}") from None
    try:
        return dict(_ModelsFile.model_validate(data).judges)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(str(path), message[0].lower() + message[1:], ".".join(map(str, first["loc"]))) from None
