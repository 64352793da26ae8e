"""Servers that want a login."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
import urllib.request

import anyio
import httpx2
import pytest
import yaml
from click.testing import CliRunner
from mcp.shared.auth import OAuthToken

from replay.cli.servers import servers as verb
from replay.errors import UsageError
from replay.interpreter.config.specs import AuthSpec
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.oauth import FileTokenStorage, LoginRequiredError, log_in, stored_login
from tests.interpreter.conftest import answer_text, fleet_of, serving

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path / "data"


@pytest.fixture
def guarded(request):
    with serving("with_oauth", *getattr(request, "param", ())) as address:
        yield address


def counts(address):
    with urllib.request.urlopen(f"{address}/counts") as response:
        return json.load(response)


def by_secret(address, secret="open sesame"):
    auth = {"type": "oauth", "grant": "client_credentials", "client_id": "robot", "client_secret": secret}
    return {"url": f"{address}/mcp", "auth": auth}


def by_browser(address, **fields):
    return {"url": f"{address}/mcp", "auth": {"type": "oauth", **fields}}


def browser(address):
    """A browser whose user has agreed before the page is drawn."""
    threading.Thread(target=lambda: urllib.request.urlopen(address).read(), daemon=True).start()


async def log_in_at(address, show=browser):
    auth = AuthSpec(grant="authorization_code")
    return await log_in(Launch("web", url=f"{address}/mcp", auth=auth, transport="http"), show)


async def test_a_secret_is_enough_for_client_credentials_and_the_token_is_used_again(host, guarded, monkeypatch):
    monkeypatch.setenv("ROBOT_SECRET", "open sesame")
    for _ in range(2):
        async with host({"web": by_secret(guarded, "${ROBOT_SECRET}")}) as interpreter:
            await interpreter.start()
            assert interpreter.servers["web"].error is None
            async with interpreter.sandbox("t") as sandbox:
                assert answer_text(await sandbox.call("web", "whoami", {})) == "robot"
    assert counts(guarded) == {"client_credentials": 1}


async def test_a_wrong_secret_is_why_the_server_cannot_be_had_and_stands_in_no_message(host, guarded, capfd):
    async with host({"web": by_secret(guarded, "wrong-secret")}) as interpreter:
        await interpreter.start()
        error = interpreter.servers["web"].error
    assert "Token exchange failed (401)" in error
    assert "wrong-secret" not in error
    assert capfd.readouterr() == ("", "")


async def test_credentials_go_to_no_other_issuer_than_the_one_that_is_named(host, guarded):
    spec = by_secret(guarded)
    spec["auth"]["issuer"] = "https://login.example"
    async with host({"web": spec}) as interpreter:
        await interpreter.start()
        assert "issuer mismatch" in interpreter.servers["web"].error
    assert counts(guarded) == {}


async def test_a_login_in_the_browser_is_made_once_and_serves_all_later_runs(host, guarded, data_home):
    kept = await log_in_at(guarded)
    for _ in range(2):
        async with host({"web": by_browser(guarded)}) as interpreter:
            await interpreter.start()
            assert interpreter.servers["web"].error is None
            async with interpreter.sandbox("t") as sandbox:
                assert (await sandbox.call("web", "whoami", {})).kind == "result"
    assert counts(guarded) == {"register": 1, "authorize": 1, "authorization_code": 1}
    assert data_home in kept.parents


async def test_only_the_user_can_read_the_tokens(guarded):
    kept = await log_in_at(guarded)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


async def test_a_token_that_has_ended_is_renewed_without_a_person(host, guarded):
    kept = await log_in_at(guarded)
    stored = json.loads(kept.read_text())
    kept.write_text(json.dumps({**stored, "expires_at": 1.0}))
    async with host({"web": by_browser(guarded)}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["web"].error is None
    assert counts(guarded)["refresh_token"] == 1
    assert counts(guarded)["authorize"] == 1
    renewed = json.loads(kept.read_text())
    assert renewed["tokens"]["access_token"] != stored["tokens"]["access_token"]
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_a_token_that_the_server_no_longer_takes_is_renewed_without_a_person(host, guarded):
    kept = await log_in_at(guarded)
    stored = json.loads(kept.read_text())
    stored["tokens"]["access_token"] = "revoked"
    kept.write_text(json.dumps(stored))
    async with host({"web": by_browser(guarded)}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["web"].error is None
    assert (counts(guarded)["refresh_token"], counts(guarded)["authorize"]) == (1, 1)


@pytest.mark.parametrize(("headers", "sent"), [({}, 1), ({"www-authenticate": 'Bearer error="insufficient_scope"'}, 2)])
async def test_a_403_is_an_answer_and_the_call_is_not_sent_again_unless_another_scope_may_help(headers, sent):
    auth = AuthSpec()
    await FileTokenStorage("web", "http://h/mcp", auth).set_tokens(OAuthToken(access_token="good", expires_in=3600))
    login = stored_login("web", "http://h/mcp", auth)
    seen = []

    def refuse(request):
        seen.append((request.url.path, request.headers.get("authorization")))
        return httpx2.Response(403, headers=headers)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(refuse), auth=login) as client:
        with contextlib.suppress(LoginRequiredError):
            await client.post("http://h/mcp", json={})
    assert seen == [("/mcp", "Bearer good")] * sent


@pytest.mark.parametrize("kept_tokens", [None, {"access_token": "revoked"}])
async def test_a_replay_opens_no_browser_and_says_what_to_run(host, guarded, kept_tokens, monkeypatch):
    if kept_tokens:
        kept = await log_in_at(guarded)
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "tokens": kept_tokens}))
    before = counts(guarded)
    monkeypatch.setattr("webbrowser.open", pytest.fail)
    async with host({"web": by_browser(guarded)}) as interpreter:
        await interpreter.start()
        error = interpreter.servers["web"].error
    assert error == 'it needs a login in the browser; run "replay servers login web" once, then try again'
    assert counts(guarded) == before


@pytest.mark.parametrize("guarded", [["--refuse"]], indirect=True)
async def test_a_login_that_the_user_refuses_is_reported(guarded):
    with pytest.raises(CannotStartError, match="the login was refused: access_denied"):
        await log_in_at(guarded)


async def test_a_server_that_asks_for_no_login_is_reported(http_url):
    with pytest.raises(CannotStartError, match="the server asked for no login"):
        await log_in_at(http_url.removesuffix("/mcp"))


async def test_many_calls_at_once_go_out_together_under_one_token(host, guarded):
    answers = []
    async with host({"web": by_secret(guarded)}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox, anyio.create_task_group() as tasks:

            async def call():
                answers.append(answer_text(await sandbox.call("web", "whoami", {})))

            for _ in range(20):
                tasks.start_soon(call)
    assert answers == ["robot"] * 20
    assert counts(guarded) == {"client_credentials": 1}


def test_the_verb_logs_in_at_a_terminal_and_the_servers_can_then_be_checked(guarded, tmp_path):
    fleet = tmp_path / "servers.yaml"
    fleet.write_text(yaml.safe_dump({"servers": {"web": by_browser(guarded)}}))
    fetch = tmp_path / "browser.py"
    fetch.write_text("import sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n")
    environment = {**os.environ, "BROWSER": f"{sys.executable} {fetch} %s"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "replay", "servers", "login", "web", "--servers", str(fleet)]
    try:
        done = subprocess.run(
            command, stdin=theirs, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "log in here: http://127.0.0.1" in done.stderr
    assert "logged in to web; the tokens are kept in" in done.stderr
    result = CliRunner().invoke(verb, ["check", "--servers", str(fleet)])
    assert result.exit_code == 0
    assert "guarded 1.0" in result.stdout


@pytest.mark.parametrize("in_ci", [True, False])
def test_the_verb_refuses_where_there_is_no_person(tmp_path, monkeypatch, in_ci):
    if in_ci:
        monkeypatch.setenv("CI", "true")
    fleet = tmp_path / "servers.yaml"
    fleet.write_text(yaml.safe_dump({"servers": {"web": by_browser("http://127.0.0.1:9")}}))
    result = CliRunner().invoke(verb, ["login", "web", "--servers", str(fleet)])
    assert isinstance(result.exception, UsageError)
    assert 'run "replay servers login web" in a terminal of your own' in str(result.exception)


def test_a_secret_of_a_login_is_a_secret_of_the_fleet_and_no_part_of_its_digest(monkeypatch):
    monkeypatch.setenv("ROBOT_SECRET", "open sesame")
    fleet = fleet_of({"web": by_secret("http://h", "${ROBOT_SECRET}"), "literal": by_secret("http://h", "in-the-file")})
    assert {"open sesame", "in-the-file"} <= set(fleet.secrets())
    assert fleet.digest("web") == fleet.digest("literal")
    assert fleet.digest("web") != fleet_of({"web": {"url": "http://h/mcp"}}).digest("web")
