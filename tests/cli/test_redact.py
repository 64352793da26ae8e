"""`replay redact`: a session that can be attached, and is judged as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import replay
from tests.cli.test_sessions import claude_session
from tests.in_process import replay_here

TOLD = (
    "ENOENT: no such file or directory, open '/home/adalovelace/shop/orders.csv' on https://build7.corp.internal/x "
    "by Ada Lovelace <adalovelace@corp.internal> at 10.1.2.3 with token ghp_0123456789abcdefghijABCDEFGHIJ012345"
)
HIDDEN = ("adalovelace", "corp.internal", "build7", "Ada Lovelace", "10.1.2.3", "ghp_0123456789")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "session.jsonl"
    answers = [("mcp__files__read", TOLD, True), ("Bash", "adalovelace owns it; the unadalovelaced does not", False)]
    path.write_text(claude_session(*answers))
    return path


def test_nothing_tells_who_and_where_and_a_name_has_one_stand_in(session: Path) -> None:
    done = replay_here("redact", session, "-o", "shared.jsonl")
    assert done.returncode == 0, done.stderr
    shared = Path("shared.jsonl").read_text()
    words = shared.replace("unadalovelaced", "")
    assert [name for name in HIDDEN if name in words] == []
    assert "/home/user-" in shared
    assert "unadalovelaced" in shared
    (user,) = {line.partition(" owns it")[0].rpartition('"')[2] for line in shared.splitlines() if " owns it" in line}
    assert f"/home/{user}/shop" in shared
    assert "1 person" in done.stderr
    assert "look it through before you share it" in done.stderr


def test_a_token_of_a_shape_that_nobody_knows_stays_and_that_is_said(session: Path) -> None:
    token = "qz~7Hd2~unseen~91Kx"
    session.write_text(claude_session(("mcp__shop__open", f"opened the till with {token}", False)))
    done = replay_here("redact", session)
    assert token in done.stdout
    assert "taken out: 0 secrets" in done.stderr
    assert "a token of another shape stays, unless --take-out REGEX matches it" in done.stderr
    assert "A secret of a shape that nobody knows" in " ".join(replay_here("redact", "--help").stdout.split())
    assert token not in replay_here("redact", session, "--take-out", "qz~[~\\w]+").stdout


def test_the_session_is_judged_as_before(session: Path) -> None:
    replay_here("redact", session, "-o", "shared.jsonl")
    with replay.classify(session) as before, replay.classify("shared.jsonl") as after:
        verdicts = [[(row.call, row.outcome, row.rule) for row in run.calls()] for run in (before, after)]
    assert verdicts[0] == verdicts[1]


def test_json_stays_json_and_text_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.json").write_text(json.dumps({"/Users/grace/x": ["mail grace@navy.example.org", "Acme"]}))
    done = replay_here("redact", "one.json", "--name", "acme")
    ((path, (mail, company)),) = json.loads(done.stdout).items()
    user = path.split("/")[2]
    assert (user[:5], mail.split("@")[0], company) == ("user-", f"mail {user}", "person-1")
    Path("log.txt").write_text("at /home/grace\nplain\n")
    assert "grace" not in replay_here("redact", "log.txt").stdout
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    assert replay_here("redact", "bytes").returncode == 2
    assert replay_here("redact", "gone.json").returncode == 2


def test_a_key_that_stands_under_its_name_once_is_taken_out_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    key = "pk_0a1b2c3d4e5f60718293a4b5c6d7e8f901"
    lines = [{"clients": {"Acme": key}}, {"text": f"env['SHOP_API_KEY'] = '{key}'"}, {"text": f"echo {key} | sh"}]
    Path("session.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = replay_here("redact", "session.jsonl")
    assert "pk_0a1b" not in done.stdout
    assert json.loads(done.stdout.splitlines()[0]) == {"clients": {"Acme": "[REDACTED]"}}
    assert "taken out: 3 secrets" in done.stderr
