"""Asking a model over the OpenAI protocol, through the real client."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from replay.chat import ChatModel, ChatReply, LimitReachedError, Limits, ModelError, ModelSettings
from tests.servers.openai_protocol import Reply, Script, in_turn, scripted

QUESTION = [{"role": "user", "content": "How many?"}]


def ask(script: Script, *, limits: Limits | None = None, times: int = 1, **settings: Any) -> list[ChatReply]:
    async def main(url: str) -> list[ChatReply]:
        model = ChatModel(ModelSettings(base_url=url, model="m", **settings), limits or Limits())
        try:
            return [await model.ask(QUESTION) for _ in range(times)]
        finally:
            await model.close()

    with scripted(script) as server:
        return anyio.run(main, server.url)


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_comes_with_its_text_calls_and_tokens(stream: bool) -> None:
    (reply,) = ask(in_turn(Reply("Let me look.", (("shop__find", '{"name": "kettle"}'),))), stream=stream)
    assert reply.text == "Let me look."
    assert [(call.name, call.arguments) for call in reply.tool_requests] == [("shop__find", '{"name": "kettle"}')]
    assert (reply.input_tokens, reply.output_tokens) == (100, 10)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_asked_for_again(status: int) -> None:
    busy = Reply(status=status, headers=(("retry-after-ms", "1"),), error={"message": "busy"})
    (reply,) = ask(in_turn(busy, busy, Reply("14")))
    assert reply.text == "14"


def test_a_slow_stream_is_read_to_its_end() -> None:
    hold = threading.Event()

    def script(request: dict[str, Any]) -> Reply:
        threading.Timer(0.05, hold.set).start()
        return Reply("There are fourteen kettles.", hold=hold)

    (reply,) = ask(script, stream=True)
    assert reply.text == "There are fourteen kettles."


def test_a_temperature_that_is_refused_is_left_out_from_then_on() -> None:
    asked = []

    def script(request: dict[str, Any]) -> Reply:
        asked.append(request.get("temperature"))
        if "temperature" in request:
            return Reply(status=400, error={"message": "Unsupported value: 'temperature'", "param": "temperature"})
        return Reply("14")

    assert [reply.text for reply in ask(script, temperature=0.5, times=2)] == ["14", "14"]
    assert asked == [0.5, None, None]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401, error={"message": "bad key"}), "the key is refused: "),
        (Reply(status=404, error={"message": "no such model"}), "has no model 'm'"),
        (
            Reply(status=400, error={"message": "too long", "code": "context_length_exceeded"}),
            "the prompt is longer than the context of m",
        ),
        (Reply(status=429, error={"message": "slow down"}), "still limits the rate after 0 retries"),
        (Reply(status=500, error={"message": "oops"}), "oops"),
        (Reply(body=b'{"choices": [{"mess'), "the reply is not of the OpenAI protocol"),
        (Reply(body=b'{"choices": []}'), "the reply is not of the OpenAI protocol"),
    ],
)
def test_each_failure_is_one_sentence(reply: Reply, words: str) -> None:
    with pytest.raises(ModelError) as raised:
        ask(in_turn(reply), retries=0)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_endpoint_that_is_not_there_is_a_lasting_failure() -> None:
    with scripted(in_turn(Reply("14"))) as server:
        url = server.url

    async def main() -> None:
        await ChatModel(ModelSettings(base_url=url, model="m", retries=0), Limits()).ask(QUESTION)

    with pytest.raises(ModelError, match="cannot be reached") as raised:
        anyio.run(main)
    assert raised.value.lasting


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY_OF_THE_TEST", raising=False)
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", model="m", api_key_env="JUDGE_KEY_OF_THE_TEST")
    with pytest.raises(ModelError, match="JUDGE_KEY_OF_THE_TEST is not set"):
        ChatModel(settings, Limits())


@pytest.mark.parametrize(("limits", "replies"), [(Limits(calls=2), 2), (Limits(tokens=111), 2), (Limits(seconds=0), 0)])
def test_limits_end_the_asking(limits: Limits, replies: int) -> None:
    with pytest.raises(LimitReachedError):
        ask(in_turn(Reply("14")), limits=limits, times=3)
    assert limits.asked == replies
