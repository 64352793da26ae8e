"""Language models over the OpenAI protocol: which one, how it is asked, and how far the asking may go.

The client retries and times out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from replay.errors import InputError, MissingExtraError, ReplayError, install_command
from replay.records.base import Record
from replay.safety.filesystem import read_small_file
from replay.safety.text import one_line

if TYPE_CHECKING:
    import openai
    from openai import AsyncOpenAI
    from openai.types import CompletionUsage

_MAX_BYTES: Final = 1_000_000
_TOO_LONG: Final = ("context_length", "context length", "context window", "maximum context", "too many tokens")


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


class ModelError(ReplayError):
    """A model gave no reply: one sentence that says why.

    Args:
        message: the sentence.
        lasting: the next request would fail likewise (no endpoint, no key), and need not be made.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class LimitReachedError(ReplayError):
    """What the user allows is used up; nothing more is asked."""


class FunctionCall(Record):
    """A function call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """The text, which need not be JSON."""


class ChatReply(Record):
    """What a model replied, and what that took."""

    text: str
    tool_requests: tuple[FunctionCall, ...] = ()
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0


@dataclass
class Limits:
    """How many requests, tokens and seconds there may be, and how many there were."""

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    asked: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    _began: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """See that one more request may be made.

        Raises:
            LimitReachedError: it may not.
        """
        if self.calls is not None and self.asked >= self.calls:
            raise LimitReachedError(f"the {self.calls} requests of --max-calls are used up")
        if self.tokens is not None and self.input_tokens + self.output_tokens >= self.tokens:
            raise LimitReachedError(f"the {self.tokens} tokens of --max-tokens are used up")
        if self.seconds is not None and time.monotonic() - self._began >= self.seconds:
            raise LimitReachedError(f"the {self.seconds:g} seconds of --max-seconds are over")

    def count(self, reply: ChatReply) -> None:
        """Take down what a reply took."""
        self.input_tokens += reply.input_tokens or 0
        self.output_tokens += reply.output_tokens or 0


class ChatModel:
    """Asks one model. A context manager.

    Args:
        settings: which one, and where.
        limits: shared by all that is asked.

    Raises:
        MissingExtraError: the `openai` client is not installed.
        ModelError: the variable of the key is not set.
    """

    def __init__(self, settings: ModelSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self._refuses_temperature = settings.temperature is None
        self._client = _client(settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), *, as_json: bool = False
    ) -> ChatReply:
        """Ask for the next message.

        Args:
            messages: the conversation.
            tools: functions that the model may call.
            as_json: the reply must be a JSON object; a wish that not every endpoint knows.

        Raises:
            LimitReachedError: no more may be asked.
            ModelError: there is no reply.
        """
        import openai

        self.limits.check()
        self.limits.asked += 1
        request: dict[str, Any] = {"model": self.settings.model, "messages": list(messages)}
        if tools:
            request["tools"] = list(tools)
            request["tool_choice"] = "auto"  # the protocol's default; llama.cpp's Python server hides the tools without
        if as_json:
            request["response_format"] = {"type": "json_object"}
        if self.settings.max_output_tokens is not None:
            request["max_tokens"] = self.settings.max_output_tokens
        began = time.monotonic()
        try:
            reply = await self._reply_to(request)
        except openai.OpenAIError as error:
            raise self._problem(error) from None
        except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
            raise ModelError(f"{self.settings.base_url}: the reply is not of the OpenAI protocol: {error}") from None
        reply = reply.model_copy(update={"seconds": round(time.monotonic() - began, 3)})
        self.limits.count(reply)
        return reply

    async def _reply_to(self, request: dict[str, Any]) -> ChatReply:
        """The reply; a temperature or a wish for JSON that the model refuses is left out, and asked without."""
        import openai

        while True:
            if not self._refuses_temperature:
                request["temperature"] = self.settings.temperature
            try:
                return await (self._streamed(request) if self.settings.stream else self._whole(request))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                text = str(error).lower()
                if "temperature" in request and "temperature" in text:
                    self._refuses_temperature = True
                    del request["temperature"]
                elif "response_format" in request and "response_format" in text:
                    del request["response_format"]
                else:
                    raise

    async def _whole(self, request: dict[str, Any]) -> ChatReply:
        completion = await self._client.chat.completions.create(**request)
        choice = completion.choices[0]
        requests = [
            FunctionCall(id=call.id or "", name=call.function.name or "", arguments=call.function.arguments or "")
            for call in choice.message.tool_calls or ()
        ]
        return _reply(choice.message.content or "", requests, choice.finish_reason, completion.usage)

    async def _streamed(self, request: dict[str, Any]) -> ChatReply:
        """Put the pieces of a stream together; the last one of all carries the tokens."""
        texts: list[str] = []
        calls: dict[int, dict[str, str]] = {}
        finish, usage = None, None
        stream = await self._client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                texts.append(choice.delta.content or "")
                for piece in choice.delta.tool_calls or ():
                    call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] += piece.id or ""
                    if piece.function is not None:
                        call["name"] += piece.function.name or ""
                        call["arguments"] += piece.function.arguments or ""
        if finish is None:
            raise ModelError(f"{self.settings.base_url}: the stream ended before the reply was complete")
        return _reply("".join(texts), [FunctionCall(**calls[index]) for index in sorted(calls)], finish, usage)

    def _problem(self, error: Exception) -> ModelError:
        """What went wrong, in one sentence."""
        import openai

        said, cause, lasting = one_line(getattr(error, "message", str(error)), 200), error.__cause__, False
        if isinstance(error, openai.APITimeoutError):
            said = f"nothing came for {self.settings.timeout:g} s"
        elif isinstance(error, openai.APIConnectionError):
            said, lasting = (
                f"cannot be reached ({one_line(str(cause or error), 200)})",
                "Connect" in type(cause).__name__,
            )
        elif isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            said, lasting = f"the key is refused: {said}", True
        elif isinstance(error, openai.NotFoundError):
            said, lasting = f"has no model {self.settings.model!r}: {said}", True
        elif isinstance(error, openai.BadRequestError) and _is_too_long(error):
            said = f"the prompt is longer than the context of {self.settings.model}"
        elif isinstance(error, openai.RateLimitError):
            said = f"still limits the rate after {self.settings.retries} retries: {said}"
        return ModelError(f"{self.settings.base_url}: {said}", lasting=lasting)


def _reply(text: str, requests: Sequence[FunctionCall], finish: str | None, usage: CompletionUsage | None) -> ChatReply:
    return ChatReply(
        text=text,
        tool_requests=tuple(requests),
        finish_reason=finish,
        input_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
    )


def _is_too_long(error: openai.APIError) -> bool:
    said = f"{error.code} {error.message}".lower()
    return any(words in said for words in _TOO_LONG)


def _client(settings: ModelSettings) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI
    except ImportError:
        raise MissingExtraError(install_command("models"), "Asking a model") from None
    key = "none"
    if settings.api_key_env is not None:
        key = os.environ.get(settings.api_key_env, "")
        if not key:
            raise ModelError(f"{settings.model}: the variable {settings.api_key_env} is not set", lasting=True)
    return AsyncOpenAI(api_key=key, base_url=settings.base_url, timeout=settings.timeout, max_retries=settings.retries)
