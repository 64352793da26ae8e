"""What the quick look at a whole document takes for clean holds no secret."""

from __future__ import annotations

import json
import random

import pytest

from replay.json_values import encode
from replay.records import Task
from replay.safety.redaction import Redactor
from replay.safety.secret_patterns import REDACTED, may_hold_secret

_TOKENS = [
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "Authorization: Basic dXNlcjpwYXNz",
    "authorization\u00a0:\tabc",
    '"Proxy-Authorization" \u2003= "x"',
    "Bearer\u2002abcdefghijkl",
    "bearer%20abcdefghijkl",
    "BEARER\x1c\nabcdefghijkl",
    "bearer éabcdefgh",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sig",
    "sk-abcdefghijklmnop1234",
    "sk_live_abcdefghij",
    "ghp_" + "a1" * 12,
    "github_pat_" + "a" * 22,
    "glpat-" + "a" * 16,
    "AKIA" + "A1" * 8,
    "xoxb-1234567890",
    "AIza" + "a1_-B" * 7,
    "hf_" + "a" * 30,
    "npm_" + "a" * 36,
    "{'db_password' :\n 'hunter22'}",
    '{"API-KEY": "hunter22"}',
    "{\"pa\u017f\u017fword\": 'hunter22'}",
    '{"x-api-key": "k"}',
    "password=hunter2",
    "--secret\u2003hunter2",
    "\nPassWord\t: hunter",
    "cookie: a=b",
    '{"passwd": 4711}',
    "the password is h2",
    "API KEY: pk_0a1b2c3d4e5f6071",
    'env["MY_TOKEN"] = "hunter2"',
    "access_token = abc",
    "postgres://user:pa\x01ss@host/db",
    "redis://:päss@host",
    "amqp://ada@b.org:p@ss@host",
    "https:\\/\\/ada:pass@host",
    "https://0a1b2c3d4e5f60718293@host",
    "curl \t-u ada:hunter2",
    "mysql -phunter2",
    "mongosh\t-p hunter2",
    "docker login -p hunter2",
    '["docker", "login", "-p", "hunter2"]',
    '["curl", "-u", "ada:hunter2"]',
    '["--password", "hunter2"]',
    "env.PGPASSWORD || 'hunter2'",
    "openssl pass:hunter2",
    "Identified by 'hunter2'",
    "SG." + "a" * 22 + "." + "b" * 43,
    "abc8Q~" + "a" * 31,
    "https://discord.com/api/webhooks/1/a",
]
_PIECES = ["a", "é", " ", "\n", "\t", '"', "'", "\\", ":", "=", "/", "@", "-", "_", ".", "8", "\u2028", "\x00", "://"]
_PIECES += ["bearer", "token", "sk-", "pass", "key", "api", "secret", "credential", "authorization", "eyJ", "next_"]
_PIECES += ["--", " is ", "cookie", "pwd", "a1"]


def _written(text: str) -> list[object]:
    """The text in ways in which a document may hold it."""
    return [text, {"text": text}, [{"deep": {"er": json.dumps({"text": text})}}], {text: 1}]


@pytest.mark.parametrize("token", _TOKENS)
def test_a_secret_is_seen_in_plain_text_and_in_json_text(token: str) -> None:
    assert may_hold_secret(token)
    assert may_hold_secret(encode([{"text": token}]))
    assert may_hold_secret(json.dumps({token: 1}, ensure_ascii=False))


@pytest.mark.parametrize("key", ["authorization", "Proxy-Authorization", "X-API-Key", "my-db_password", "idToken"])
def test_a_secret_is_seen_by_the_key_of_a_member(key: str) -> None:
    assert Redactor().json({"headers": {key: "value"}}) == {"headers": {key: REDACTED}}


def test_whatever_is_taken_out_of_a_text_was_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.safety.redaction.may_hold_secret", lambda text: True)
    chance = random.Random(11)
    taken = 0
    for _ in range(500):
        text = "".join(chance.choices(_PIECES + _TOKENS, k=chance.randint(1, 9)))
        for document in _written(text):
            if Redactor().json(document) != document:
                taken += 1
                assert may_hold_secret(encode(document)), document
                assert Redactor().text(text) == text or may_hold_secret(text), text
    assert taken > 200


@pytest.mark.parametrize("text", ["a token of 5 keys", "https://example.org/a@b", '{"key": "alpha"}', "no such tool"])
def test_plain_texts_are_told_from_secrets_at_once(text: str) -> None:
    assert not may_hold_secret(text)


def test_half_a_surrogate_pair_is_looked_at_closely() -> None:
    assert may_hold_secret("\ud800")
    assert Redactor().text("\ud800 sk-abcdefghijklmnop1234") == f"\ud800 {REDACTED}"


@pytest.mark.parametrize("gap", [" ", "\u00a0", "\u2003", "\u3000"])
@pytest.mark.parametrize("text", ["password{0}= hunter2abc", "PASSWD{0}: hunter2abc", "the password{0}is hunter2abc"])
def test_a_secret_beside_half_a_surrogate_pair_is_taken_out_of_documents_and_records(text: str, gap: str) -> None:
    text = text.format(gap) + " \ud800"
    left = Redactor().text(text)
    assert "hunter2abc" not in left
    assert Redactor().json({"a": [text]}) == {"a": [left]}
    assert Redactor().record(Task(question=text))["question"] == left
    assert b"hunter2abc" not in Redactor().record_text(Task(question=text))
