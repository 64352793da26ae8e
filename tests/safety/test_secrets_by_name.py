"""A secret is told by the name that it stands under."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.safety.redaction import REDACTED, Redactor
from tests.runs import call, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    "key",
    ["password", "Password", "db_password", "passwd", "pwd", "client_secret", "clientSecret", "api_key", "apiKey",
     "API-KEY", "access_token", "accessToken", "token", "private_key", "secret", "GITHUB_TOKEN", "passphrase"],
)  # fmt: skip
def test_what_stands_under_the_name_of_a_secret_is_taken_out(key: str) -> None:
    document = {"login": {key: "hunter2hunter2", "user": "ada"}}
    assert Redactor().json(document) == {"login": {key: REDACTED, "user": "ada"}}
    assert "hunter2" not in Redactor().text(json.dumps(document))
    assert "hunter2" not in Redactor().text(json.dumps({"text": json.dumps(document)}))


@pytest.mark.parametrize(
    "document",
    [
        {"next_page_token": "CAoQAA"},
        {"pageToken": "CAoQAA"},
        {"max_tokens": "4096"},
        {"key": "alpha"},
        {"keyboard": "qwerty"},
        {"secretary": "Ada Lovelace"},
        {"tokenizer": "cl100k"},
        {"compass": "north-east"},
        {"password": "${DB_PASSWORD}"},
        {"password": ""},
        {"properties": {"password": {"type": "string"}}, "required": ["password"]},
    ],
)
def test_what_only_sounds_like_a_secret_stays(document: dict[str, object]) -> None:
    assert Redactor().json(document) == document
    assert Redactor().text(json.dumps(document)) == json.dumps(document)


def test_a_password_in_arguments_stands_in_no_report_and_not_in_the_run(tmp_path: Path, replay: Replay) -> None:
    write_trajectory(tmp_path / "t.trajectory.json", [call("db/login", {"user": "ada", "password": "hunter2hunter2"})])
    assert replay("classify", "t.trajectory.json", "--offline").returncode == 0
    for form in ("markdown", "html", "json", "csv", "junit"):
        assert "hunter2" not in replay("report", "--format", form).stdout
    assert "hunter2" not in replay("report", "--call", "t:s1c1").stdout
    from replay.runfile import Run
    from replay.runfile.trajectory_queries import trajectory_record

    with Run.read(tmp_path / "replay-run.db") as run:
        assert "hunter2" not in trajectory_record(run.connection, 1).model_dump_json()


def test_readers_leave_nothing_beside_a_run(tmp_path: Path, replay: Replay) -> None:
    write_trajectory(tmp_path / "t.trajectory.json", [call("db/login", {"user": "ada"})])
    assert replay("classify", "t.trajectory.json", "--offline").returncode == 0
    before = {path.name for path in tmp_path.iterdir()}
    assert replay("report").returncode == 0
    assert replay("diff", "replay-run.db", "replay-run.db").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("text", ["not a run", ""])
def test_a_file_that_is_no_run_gets_no_lock_beside_it(tmp_path: Path, replay: Replay, text: str) -> None:
    write_trajectory(tmp_path / "t.trajectory.json", [call("db/login", {"user": "ada"})])
    (tmp_path / "notes.txt").write_text(text or "a,b\n")
    assert replay("classify", "t.trajectory.json", "--offline", "--run", "notes.txt").returncode == 2
    assert {path.name for path in tmp_path.iterdir()} == {"t.trajectory.json", "notes.txt"}
