"""From what was sent and what came back to a `Call`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from replay.interpreter.session.answer_reader import answer_of as read_answer
from replay.interpreter.session.json_rpc import Failed, Returned
from replay.json_values import bounded
from replay.records import Answer, Call, JsonObject, TransportFault

_Unreadable = Literal["call", "name", "arguments"]
_Fault = Literal["timeout", "closed", "not-started", "unreadable"]


@dataclass
class CallDraft:
    """A call as a journal has it; its answer may still be missing."""

    request: Any
    """The JSON-RPC request, or the text of a call that nobody could read."""
    began: float
    server: str | None = None
    tool: str | None = None
    ended: float | None = None
    answer: Answer | None = None

    @classmethod
    def unparsed(cls, text: str, at: float) -> CallDraft:
        """A call that was never sent."""
        return cls(text, at)

    def end(self, message: Any, at: float, *, fault: bool) -> None:
        """Take what came back; the first answer stands."""
        if self.ended is None:
            self.ended = at
            self.answer = _to_fault(message) if fault else to_answer(message)

    def call(self, position: str, server: str | None) -> Call:
        """The record.

        Args:
            position: its place in the trajectory.
            server: the server it went to where the journal does not say.
        """
        name, arguments, unreadable, raw = _split_request(self.request)
        resolved_server = self.server or server
        is_resolved = resolved_server is not None and name is not None
        return Call(
            position=position,
            name=name,
            server=resolved_server if is_resolved else None,
            tool=(self.tool or name) if is_resolved else None,
            arguments=arguments,
            unreadable=unreadable,
            raw=raw,
            id=_request_id(self.request),
            answer=self.answer or self._missing_answer(),
            started=round(self.began, 6),
            seconds=None if self.ended is None else round(self.ended - self.began, 6),
        )

    def _missing_answer(self) -> Answer | None:
        if isinstance(self.request, str):
            return None
        return TransportFault(fault="closed", message="the recording ended before an answer came")


def to_answer(response: Any) -> Answer:
    """The answer in a JSON-RPC response, read as the interpreter reads one: a replay must see the same."""
    if not isinstance(response, dict):
        return TransportFault(fault="unreadable", message="the response is not a JSON object")
    error = response.get("error")
    outcome = Failed(error) if isinstance(error, dict) else Returned(bounded(response.get("result")))
    return read_answer(outcome, lambda note: None)


def _to_fault(message: Any) -> TransportFault:
    return TransportFault(fault=cast("_Fault", message["fault"]), message=str(message["message"]))


def _split_request(request: Any) -> tuple[str | None, JsonObject | None, _Unreadable | None, str | None]:
    """Name, arguments, which part cannot be read, and that part verbatim."""
    if isinstance(request, str):
        return None, None, "call", request
    params = request.get("params") if isinstance(request, dict) else None
    if not isinstance(params, dict):
        return None, None, "call", json.dumps(request, ensure_ascii=False)
    name, arguments = params.get("name"), params.get("arguments")
    arguments = {} if arguments is None else arguments
    if not isinstance(name, str):
        kept_arguments = arguments if isinstance(arguments, dict) else None
        return None, kept_arguments, "name", json.dumps(name, ensure_ascii=False) if "name" in params else None
    if not isinstance(arguments, dict):
        return name, None, "arguments", json.dumps(arguments, ensure_ascii=False)
    return name, cast("JsonObject", bounded(arguments)), None, None


def _request_id(request: Any) -> str | None:
    identifier = request.get("id") if isinstance(request, dict) else None
    if isinstance(identifier, str):
        return identifier
    return None if identifier is None else json.dumps(identifier)
