"""The stored answers that a worker needs come together; what was not foreseen is asked for by itself."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import anyio
import pytest

from replay.cluster import stored_answers
from replay.cluster.stored_answers import StoredAnswers, look_up
from replay.formats import open_file
from replay.outcomes import Registry
from replay.records import Answer, FleetFacts, Server, ServerFacts, TextAnswer, Tool
from replay.replayer import (
    InputCalls,
    ReplayContext,
    StoredBackend,
    answer_key,
    expected_keys,
    replay_trials,
)
from replay.replayer.plan import Options

Write = Callable[..., Path]
FACTS = FleetFacts(servers={"book": ServerFacts(digest="b"), "shelf": ServerFacts(digest="s", stateful=True)})


class Checkpoint:
    """Remembers nothing."""

    results: dict[str, Any] = {}  # noqa: RUF012

    def sent_before(self, key: object) -> None:
        """Nothing was."""

    def keep(self, result: object) -> None:
        """Nothing is kept."""


def test_the_keys_that_a_replay_asks_for_are_known_before_it(results_file: Write) -> None:
    steps = [
        [("shelf/put", {"n": "1"}, "done")],
        [("book/look", {"n": "1"}, "done"), ("shelf/put", {"n": "2"}, "done")],
        [("shelf/gone", {}, "unknown tool"), ("nobody/look", {}, "unknown tool")],
        [("shelf/look", {"n": "1"}, "done"), ("shelf/put", {"n": "1"}, "done")],
    ]
    (trajectory,) = open_file(results_file(t=steps)).trajectories()
    tools = (Tool(name="put"), Tool(name="look"))
    servers = {name: Server(name=name, digest=name[0], tools=tools) for name in ("book", "shelf")}
    registry = Registry(servers=servers, server_names=("book", "shelf"), complete=True)
    asked: list[str] = []

    def stored(key: str) -> Answer:
        asked.append(key)
        return TextAnswer(text="done")

    context = ReplayContext(StoredBackend(stored, FACTS), registry, {}, (), "", InputCalls({}, registry))
    named = context.as_named_here(trajectory)
    options = Options()
    none: Any = Checkpoint()
    anyio.run(replay_trials, named, context, options, (none, none), lambda: None)
    assert len(asked) == 5
    assert list(expected_keys(named, registry, FACTS)) == asked
    assert asked[0] == answer_key("s", "put", {"n": "1"}, "")


class Mailbox:
    """Answers as the command does, and counts the questions."""

    def __init__(self, known: dict[str, Answer]) -> None:
        self.known, self.asked = known, 0

    def ask(self, kind: str, content: Any) -> Future[Any]:
        """Of one kind only."""
        assert kind == "stored"
        self.asked += 1
        future: Future[Any] = Future()
        future.set_result(look_up(pickle.loads(pickle.dumps(content)), self.known.get))
        return future


def test_one_message_gets_them_all_and_what_does_not_fit_is_asked_for_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Answer] = {key: TextAnswer(text=key * 100) for key in "abc"}
    mailbox: Any = Mailbox(known)
    answers = StoredAnswers(mailbox)
    with answers.fetched(["a", "b", "a", "none", "c"]):
        assert [answers.get(key) for key in ("a", "b", "none", "c")] == [known["a"], known["b"], None, known["c"]]
        assert mailbox.asked == 1
        assert answers.get("unforeseen") is None
        assert mailbox.asked == 2
    assert answers.get("a") == known["a"]
    assert mailbox.asked == 3
    monkeypatch.setattr(stored_answers, "MAX_BYTES", 10)
    with answers.fetched(["a", "b"]):
        assert [answers.get(key) for key in "ab"] == [known["a"], known["b"]]
    assert mailbox.asked == 5
