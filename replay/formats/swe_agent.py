"""SWE-agent's `.traj` (`{trajectory, history, info}`) and mini-SWE-agent's (`{messages, info, trajectory_format}`).

Both act in one shell: an action is a call with arguments where the model called functions, else the command that it
wrote as text, which is read as a call of `bash`. Demonstrations that SWE-agent shows its model are no calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import as_number, joined_text, object_in, objects, opened, text_of
from replay.formats.record_builders import answer_of, build_call, function_call
from replay.records import Call, JsonObject, Trajectory

_FENCED = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL)
_SHELL = "bash"


class SweAgentReader:
    """Reads trajectories of SWE-agent and mini-SWE-agent."""

    name = "swe-agent"
    title = "SWE-agent and mini-SWE-agent trajectories"
    expected_shape = 'SWE-agent ({"trajectory": [{"action", "observation"}], "history"} or "trajectory_format")'

    def sniff(self, head: Head) -> Match:
        """The fields that only they write."""
        records = head.objects
        if any(map(_is_mini, records)):
            return Match(0.97, '"trajectory_format" of mini-SWE-agent')
        bare = 0 < len(records) == len(head.records) and all(map(_is_bare, records))
        if bare and b"```mswea_bash_command" in head.data:
            return Match(0.9, "messages with the fences of mini-SWE-agent")
        if any(map(_is_trajectory, records)):
            return Match(0.97, '"trajectory" of "action" and "observation"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a record; a file holds one."""
        bare: list[JsonObject] = []
        for element in document.objects(lambda value: _is_bare(value) or _is_mini(value) or _is_trajectory(value)):
            record = element.value
            if _is_bare(record):
                bare.append(record)
                continue
            log = CallLog(element.place, text_of(record.get("instance_id")))
            if _is_mini(record):
                log.model = text_of(object_in(record, "info", "config", "model").get("model_name"))
                _read_messages(objects(record["messages"]), log)
            else:
                log.model = text_of(object_in(opened(record.get("replay_config")), "agent", "model").get("name"))
                _read_steps(record, log)
            yield log.trajectory(document, self.name)
        if bare:
            log = CallLog()
            _read_messages(bare, log)
            yield log.trajectory(document, self.name)


def _is_bare(value: JsonObject) -> bool:
    return "role" in value and "content" in value


def _is_mini(value: JsonObject) -> bool:
    stamped = str(value.get("trajectory_format")).startswith("mini-swe-agent")
    return isinstance(value.get("messages"), list) and (stamped or "mini_version" in object_in(value, "info"))


def _is_trajectory(value: JsonObject) -> bool:
    steps = value.get("trajectory")
    listed = isinstance(steps, list) and "info" in value
    return listed and all({"action", "observation"} <= step.keys() for step in objects(steps))


def _read_steps(record: JsonObject, log: CallLog) -> None:
    """The steps; what the model called in each of them stands in its message in the history."""
    history = [message for message in objects(record.get("history")) if not message.get("is_demo")]
    log.ask(next((joined_text(message.get("content")) for message in history if message.get("role") == "user"), None))
    called = {str(message.get("action")): objects(message.get("tool_calls")) for message in history}
    for number, step in enumerate(objects(record["trajectory"])):
        action = step["action"] if isinstance(step["action"], str) else ""
        log.say(text_of(step.get("thought")) or text_of(step.get("response")))
        if not action.strip():
            continue  # the reply had no action in it, and the model was asked again
        calls = [function_call(call, local=True) for call in called.get(action, [])] or [
            build_call(_SHELL, {"command": action}, local=True)
        ]
        seconds = as_number(step.get("execution_time"))
        seconds = None if seconds is None or seconds < 0 else seconds
        for call in calls:
            log.add(call, number, model=log.model)
            log.answer(call.id, answer_of(step["observation"]), name=call.name, seconds=seconds)


def _read_messages(messages: list[JsonObject], log: CallLog) -> None:
    """The messages of mini-SWE-agent: an answer is the next message, or one with the id of its call."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        extra, role = object_in(message, "extra"), message.get("role")
        if role == "assistant" or message.get("object") == "response":
            log.say(joined_text(message.get("content")))
            calls = _mini_calls(message, extra)
            waiting = []
            for index, call in enumerate(calls):
                identifier = call.id or f"{number}.{index}"
                waiting.append(identifier)
                log.add(call.model_copy(update={"id": identifier}), number, model=log.model)
        elif waiting and role in ("tool", "user", None):
            answered = text_of(message.get("tool_call_id")) or text_of(message.get("call_id"))
            content = message.get("content", message.get("output"))
            log.answer(answered or waiting.pop(0), answer_of(content))
        elif role == "user":
            log.ask(joined_text(message.get("content")))


def _mini_calls(message: JsonObject, extra: JsonObject) -> list[Call]:
    """What the model called, what the harness took out of its text, or the command between fences."""
    written = [function_call(call, local=True) for call in objects(message.get("tool_calls"))]
    if written:
        return written
    actions = objects(extra.get("actions"))
    if actions:
        fields = [(text_of(action.get("tool_call_id")), action.get("command")) for action in actions]
        return [build_call(_SHELL, {"command": command}, id=identifier, local=True) for identifier, command in fields]
    commands = _FENCED.findall(joined_text(message.get("content")) or "")
    return [build_call(_SHELL, {"command": commands[0]}, local=True)] if len(commands) == 1 else []
