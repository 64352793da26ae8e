"""Secrets are taken out of what is written, and nothing else is."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import UsageError
from replay.safety.redaction import Redactor
from replay.safety.secret_patterns import REDACTED

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nx/y=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "token",
    [
        "sk-proj-abcDEF0123456789abcdef",
        "sk-ant-api03-abcdefghij_klmnop-qrstuv",
        "sk-abcdefghijklmnopqrstuvwxyz",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnop",
        "glpat-abcdefghij0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefABCDEF",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        JWT,
        KEY,
        json.dumps(KEY)[1:-1],
    ],
)
def test_common_token_shapes_are_taken_out_of_any_text(token: str) -> None:
    cleaned = Redactor().text(f'before "{token}" after')

    assert cleaned == f'before "{REDACTED}" after'


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc.def-123456",
        "authorization: Basic dXNlcjpwYXNz",
        '{"Authorization": "token 0123456789"}',
        '{\\"authorization\\": \\"s3cr3t value\\"}',
        'curl -H \'Authorization: Digest username="me", response="0123"\'',
        "PROXY-AUTHORIZATION: NTLM TlRMTVNTUAAB",
    ],
)
def test_an_authorization_header_keeps_its_name_and_loses_its_value(text: str) -> None:
    cleaned = Redactor().text(text)

    assert REDACTED in cleaned
    assert "uthorization" in cleaned.lower()
    for part in ("abc.def", "dXNl", "0123456789", "s3cr3t", "0123", "TlRM"):
        assert part not in cleaned


def test_a_header_in_a_json_object_loses_its_value_whatever_its_shape() -> None:
    value = {"headers": {"Authorization": "opaque", "X-API-Key": "k", "Accept": "json"}}

    assert Redactor().json(value) == {"headers": {"Authorization": REDACTED, "X-API-Key": REDACTED, "Accept": "json"}}


def test_a_schema_with_a_property_named_authorization_stays_as_it_is() -> None:
    schema = {"properties": {"authorization": {"type": "string"}}}

    assert Redactor().json(schema) is schema


@pytest.mark.parametrize(
    "text",
    [
        "Bearer authentication is required; a Bearer token will do",
        "a task-based approach to risk-assessments-of-everything",
        "https://example.org:8080/path?x=1 me@example.org",
        "eyJ is how they start; AKIA too; sk-learn",
        "the ghp_ prefix",
    ],
)
def test_prose_that_only_resembles_a_token_is_left_alone(text: str) -> None:
    assert Redactor().text(text) is text


def test_a_password_in_a_url_is_taken_out() -> None:
    assert Redactor().text("postgres://me:hunter2@db/x") == f"postgres://me:{REDACTED}@db/x"


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=6, max_size=30).filter(lambda s: len(s.strip()) >= 6))
def test_a_known_secret_is_found_in_every_spelling(secret: str) -> None:
    redactor = Redactor([secret])
    stripped = secret.strip()
    once = json.dumps(stripped)[1:-1]
    for spelling in (stripped, once, json.dumps(once)[1:-1], quote(stripped, safe="")):
        assert redactor.text(f"<{spelling}>") == f"<{REDACTED}>"


def test_keys_lists_and_numbers_are_searched_too() -> None:
    redactor = Redactor(["987654321", "topsecret"])

    value = {"topsecret": [987654321, 1, True, None, {"x": "a topsecret b"}]}

    assert redactor.json(value) == {REDACTED: [REDACTED, 1, True, None, {"x": f"a {REDACTED} b"}]}


def test_short_values_are_not_taken_for_secrets() -> None:
    assert Redactor(["true", "8080", ""]).text("true 8080") == "true 8080"


def test_what_holds_no_secret_comes_back_as_the_same_object() -> None:
    value = {"a": [1, "x", {"b": None}], "c": "plain"}

    assert Redactor(["topsecret"], ["never"]).json(value) is value


def test_the_users_patterns_are_taken_out_and_empty_matches_change_nothing() -> None:
    redactor = Redactor(patterns=[r"\bP-\d+\b", "z*"])

    assert redactor.text("file P-1234 ok") == f"file {REDACTED} ok"


def test_a_pattern_that_is_not_a_regular_expression_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        Redactor(patterns=["("])
