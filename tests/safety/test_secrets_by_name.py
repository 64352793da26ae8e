"""A secret is told by the name that it stands under."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.safety.redaction import Redactor
from replay.safety.secret_patterns import REDACTED
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


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("hunter2", REDACTED),
        ("x", REDACTED),
        ("two words", REDACTED),
        ('with "quotes" and \\ in it', REDACTED),
        (4711, REDACTED),
        (["one", 2], [REDACTED, REDACTED]),
        ([{"name": "sid", "value": "v7"}], [{"name": "sid", "value": REDACTED}]),
    ],
)
@pytest.mark.parametrize(
    "key", ["cookie", "Set-Cookie", "cookies", "passwd", "pwd", "secret", "credential", "credentials", "authorization"]
)
def test_whatever_stands_under_the_name_of_a_secret_is_taken_out(key: str, value: object, left: object) -> None:
    assert Redactor().json({"login": {key: value, "user": "ada"}}) == {"login": {key: left, "user": "ada"}}
    if not isinstance(value, list):
        quoted = json.dumps({key: value, "n": 1}).replace(json.dumps(value), f'"{REDACTED}"')
        assert Redactor().text(json.dumps({key: value, "n": 1})) in (quoted, quoted.replace(f'"{REDACTED}"', REDACTED))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2", "password="),
        ("PGPASSWORD=hunter2 psql -h db", "PGPASSWORD= psql -h db"),
        ("db_password='hunter2 x' next", "db_password='' next"),
        ("mysql --password hunter2 shop", "mysql --password  shop"),
        ("mysql --password=hunter2 shop", "mysql --password= shop"),
        ("https://h/p?password=hunter2&x=1", "https://h/p?password=&x=1"),
        ("login(user='ada', password='hunter2')", "login(user='ada', password='')"),
        ("Password: hunter2", "Password: "),
        ("User: ada\n  Admin password: hunter\n", "User: ada\n  Admin password: \n"),
        ("the secret is s3cr3t", "the secret is "),
        ("export API_KEY=abcd1234", "export API_KEY="),
        ('env["PRIVATE_API_KEY"] = "abcd1234"', 'env["PRIVATE_API_KEY"] = ""'),
        ("os.environ['X_TOKEN']='abcd1234'", "os.environ['X_TOKEN']=''"),
        ("API KEY: pk_0a1b2c3d4e5f6071\nDates: all", "API KEY: \nDates: all"),
        ("the api key is `pk_0a1b2c3d4e5f6071`.", "the api key is ``."),
        ("**Private Key:** pk_0a1b2c3d4e5f6071", "**Private Key:** "),
        ("curl -H 'Cookie: session=abc; theme=dark' https://h", "curl -H 'Cookie: ' https://h"),
        ("Set-Cookie: sid=31d4d96e; Path=/\nVary: *", "Set-Cookie: \nVary: *"),
        ("curl -sSu ada:hunter2 https://h", "curl -sSu ada: https://h"),
        ("curl -uada:hunter2 https://h", "curl -uada: https://h"),
        ("curl -X POST \\\n  --user 'ada:hunter2 x' https://h", "curl -X POST \\\n  --user 'ada:' https://h"),
        ('sh -c "curl \'h?a=1&b=2\' -u \\"a@b.org:hunter2\\""', 'sh -c "curl \'h?a=1&b=2\' -u \\"a@b.org:\\""'),
        ("curl --proxy-user=ada:hunter2 https://h", "curl --proxy-user=ada: https://h"),
        ("mysql -u root -phunter2 shop", "mysql -u root -p shop"),
        ("mysqldump -uroot -p'hunter2 x' shop", "mysqldump -uroot -p'' shop"),
        ("kubectl exec mysql-0 -- mysql -uroot --password=hunter2", "kubectl exec mysql-0 -- mysql -uroot --password="),
        ("mongosh -u root -p hunter2", "mongosh -u root -p "),
        ("docker login -u ada -p hunter2 h", "docker login -u ada -p  h"),
        ("redis-cli -h h -a hunter2 ping", "redis-cli -h h -a  ping"),
        ("sshpass -p hunter2 ssh h", "sshpass -p  ssh h"),
        ("openssl rsa -in k -passin pass:hunter2", "openssl rsa -in k -passin pass:"),
        ("CREATE USER ada IDENTIFIED BY 'hunter2'", "CREATE USER ada IDENTIFIED BY ''"),
        ("**Email:** ada@b.org\n**Password:** `hunter!2`", "**Email:** ada@b.org\n**Password:** ``"),
        ("28\t  environment:\n29\t    MYSQL_PASSWORD: hunter\n", "28\t  environment:\n29\t    MYSQL_PASSWORD: \n"),
        ("const password = process.env.PGPASSWORD || 'hunter2';", "const password = process.env.PGPASSWORD || '';"),
        ("create role ada with password 'hunter2';", "create role ada with password '';"),
        ("Endpoint=sb://h/;SharedAccessKey=abcd1234=", "Endpoint=sb://h/;SharedAccessKey="),
        ("X-Auth-Token: 0a1b2c3d4e5f6071", "X-Auth-Token: "),
        ("amqp://ada:hunter2@h", "amqp://ada:@h"),
        ("smtp://ada@b.org:hunter2@h", "smtp://ada@b.org:@h"),
        ("postgresql+psycopg2://ada:hunt@er2@h/db", "postgresql+psycopg2://ada:@h/db"),
        ('{"url": "https:\\/\\/ada:hunter2@h\\/x"}', '{"url": "https:\\/\\/ada:@h\\/x"}'),
        ("git clone https://0a1b2c3d4e5f60718293@h/x.git", "git clone https://@h/x.git"),
        ("https://hooks.slack.com/services/T00/B00/XXXX", "https://hooks.slack.com/services/"),
        ("https://discord.com/api/webhooks/123/a-B_c", "https://discord.com/api/webhooks/123/"),
    ],
)
def test_a_secret_in_plain_words_is_taken_out(text: str, left: str) -> None:
    assert Redactor().text(text) == Redactor().json({"a": [text]})["a"][0]
    assert Redactor().text(text).replace(REDACTED, "") == left


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["mysql", "-u", "root", "-phunter2", "shop"], ["mysql", "-u", "root", "-p", "shop"]),
        (["mysqladmin", "ping", "--password", "hunter2"], ["mysqladmin", "ping", "--password", ""]),
        (["--api-key", "hunter 2 x", "next"], ["--api-key", "", "next"]),
        (["curl", "-s", "-u", "ada:hunter2", "https://h"], ["curl", "-s", "-u", "ada:", "https://h"]),
        (["curl", "--user=ada:hunter2"], ["curl", "--user=ada:"]),
        (["mongosh", "-u", "root", "-p", "hunter2"], ["mongosh", "-u", "root", "-p", ""]),
        (["docker", "login", "-u", "ada", "-p", "hunter2"], ["docker", "login", "-u", "ada", "-p", ""]),
        (["redis-cli", "-a", "hunter2", "ping"], ["redis-cli", "-a", "", "ping"]),
        (["sshpass", "-p", "hunter2", "ssh", "h"], ["sshpass", "-p", "", "ssh", "h"]),
        (["sh", "-c", 'echo "a" && mysql -phunter2'], ["sh", "-c", 'echo "a" && mysql -p']),
    ],
)
def test_a_secret_in_a_command_that_is_a_list_of_words_is_taken_out(words: list[str], left: list[str]) -> None:
    cleaned = Redactor().json({"command": words})["command"]
    assert [word.replace(REDACTED, "") for word in cleaned] == left
    for written in (json.dumps(words), json.dumps({"file": json.dumps(words)}), repr(words)):
        assert "hunter" not in Redactor().text(written)


@pytest.mark.parametrize(
    "words",
    [
        ["--password", "--user"],
        ["tool", "--token", "-x"],
        ["mysql", "-u", "root", "-p", "shop"],
        ["docker", "run", "-p", "3306:3306", "mysql"],
        ["- a password", "- a token", "--"],
        ["--token", "$TOKEN"],
        ["curl", "-u", "$USER:$PASSWORD", "https://h"],
    ],
)
def test_the_words_of_a_command_without_a_secret_stay(words: list[str]) -> None:
    assert Redactor().json({"command": words}) == {"command": words}
    assert Redactor().text(json.dumps(words)) == json.dumps(words)


@pytest.mark.parametrize(
    "text",
    [
        '{"old": "DB_PASSWORD=", "new": "DB_HOST=h", "last": "mysql -p"}',
        'if (!password || !user) fail(user.token ?? "none")',
        '{"flag": "--token", "other": "x"}',
        'parser.add_argument("--token", help="of the server")',
        "password must be at least 8 characters",
        "Invalid password: too short",
        "password: string",
        "next_page_token=CAoQAA",
        "max_token=100",
        "client = connect(token=token, password=password)",
        "api_key = os.environ['KEY']",
        'if env["API_KEY"] == other["API_KEY"]:',
        "API key: see https://example.org/keys/2024",
        "an access key is needed",
        "secret = secrets.token_hex(8)",
        "password=$PASSWORD",
        "password == other",
        "API_KEY=\nEOF",
        "The secret: never give up",
        "Accept all cookies: we use them",
        'curl -u "$USER:$PASSWORD" https://h',
        "curl -u user:password https://h",
        "curl https://h && docker run -u 1000:1000 image",
        "docker run --name mysql -p3306:3306 mysql:8; mongo -p 27017:27017",
        "mysql -u root -p shop",
        "mysql -h h -P 3306 && mkdir -p dir",
        "Products are identified by Product ID",
        "ssh://git@github.com/owner/a-name-of-2024.git",
        "https://registry.example/@scope/name@1.2.3",
        "http://localhost:8080/users/me@example.org",
    ],
)
def test_words_about_secrets_and_code_that_gets_them_stay(text: str) -> None:
    assert Redactor().text(text) == text


def test_secrets_in_plain_words_leave_neither_the_run_nor_the_page_nor_the_report_of_a_call(
    tmp_path: Path, replay: Replay
) -> None:
    calls = [
        call("db/login", {"command": "psql password=hunter2a", "headers": {"Cookie": "session=hunter2b"}}),
        call("db/open", {"cookie": "hunter2c", "passwd": "hunter2d", "pwd": "hunter2e", "credential": "hunter2f"}),
        call("db/read", {"secret": 72727272}, "Set-Cookie: sid=hunter2g; Path=/\npassword: hunter2h"),
        call(
            "sh/run",
            {"command": "curl -sSu ada:hunter2j https://h && mysql -u root -phunter2k shop"},
            "amqp://u:hunter2l@h",
        ),
        call("sh/run", {"command": ["mysql", "-phunter2m", "--password", "hunter2n"]}, "done"),
    ]
    write_trajectory(tmp_path / "t.trajectory.json", calls, question="Log in with password=hunter2i")
    assert replay("classify", "t.trajectory.json", "--offline").returncode == 0
    for form in ("markdown", "html", "json", "csv", "junit"):
        said = replay("report", "--format", form).stdout
        assert "hunter2" not in said
        assert "72727272" not in said
    for position in ("s1c1", "s2c1", "s3c1", "s4c1", "s5c1"):
        assert "hunter2" not in replay("report", "--call", f"t:{position}").stdout
    from replay.runfile import Run
    from replay.runfile.trajectory_queries import trajectory_record

    with Run.read(tmp_path / "replay-run.db") as run:
        assert "hunter2" not in trajectory_record(run.connection, 1).model_dump_json()
        for table in ("trajectories", "calls", "task_runs"):
            assert "hunter2" not in repr(run.connection.execute(f"SELECT * FROM {table}").fetchall())


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


@pytest.mark.parametrize("length", range(19, 30))
def test_a_quoted_secret_that_is_cut_off_is_taken_out_as_far_as_it_goes(length: int) -> None:
    text = "login(password='publicpassword')"
    assert Redactor().text(text[:length]) == f"login(password='{REDACTED}"


def test_what_was_once_named_a_key_stands_nowhere_in_the_run(tmp_path: Path, replay: Replay) -> None:
    key = "pk_0a1b2c3d4e5f60718293a4b5c6d7e8f901"
    calls = [call("sh/run", {"command": f"audit {key}"}, f"usage: audit {key}"), call("sh/set", {"api_key": key})]
    write_trajectory(tmp_path / "t.trajectory.json", calls, question=f"The key of Acme is {key}")
    assert replay("classify", "t.trajectory.json", "--offline").returncode == 0
    for form in ("markdown", "html", "json", "csv"):
        assert "pk_0a1b" not in replay("report", "--format", form).stdout
    assert "pk_0a1b" not in replay("report", "--call", "t:s1c1").stdout


def test_a_token_is_left_the_same_before_and_after_a_document_that_holds_it_was_looked_at() -> None:
    redactor, token = Redactor(["123456"]), "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    before = redactor.text(token)
    redactor.learn({"id": token})
    assert redactor.text(token) == before


@pytest.mark.parametrize(
    "value", ["/home/ada/keys/2024.pem", "12345678901234567890", "a-word-of-letters-alone", "v2024"]
)
def test_a_path_a_number_and_a_word_are_no_keys_elsewhere(value: str) -> None:
    redactor = Redactor()
    redactor.learn({"api_key": value, "text": f"api_key={value}"})
    assert redactor.text(f"see {value}") == f"see {value}"


@pytest.mark.parametrize(
    "token",
    [
        "SG." + "aB3_-" * 4 + "xy." + "Zz09_-x" * 6 + "q",
        "123456789:AA" + "Hd4-_xY9s" * 3 + "abcdef",
        "bot1234567890:AA" + "Hd4-_xY9s" * 3 + "abcdef",
        "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "SK" + "0123456789abcdef" * 2,
        "glptt-" + "a1" * 20,
        "xapp-1-" + "A0123-" * 5,
        "pypi-Ag" + "EIcHlwaS5vcmc" * 5,
        "dckr_pat_" + "a1B_-" * 6,
        "GOCSPX-" + "a1B_" * 7,
        "ya29." + "a1B_-" * 8,
        "abc8Q~" + "a1B_" * 8,
        "dop_v1_" + "0123456789abcdef" * 4,
        "hvs." + "a1B_" * 24,
        "shpat_" + "0123456789abcdef" * 2,
        "gsk_" + "a1B2" * 13,
        "tvly-dev-" + "a1B2" * 8,
        "ntn_" + "01234567890" + "a1B2c" * 7,
        "lin_api_" + "a1B2" * 10,
        "pat" + "a1B2c3D4e5F6g7" + "." + "0123456789abcdef" * 4,
        "lsv2_pt_" + "0123456789abcdef" * 2 + "_0123456789",
    ],
)
def test_a_token_of_a_published_shape_is_taken_out_wherever_it_stands(token: str) -> None:
    assert Redactor().text(f"use {token}, please") == f"use {REDACTED}, please"
    assert Redactor().json({"a": [f"/{token}/x"]}) == {"a": [f"/{REDACTED}/x"]}
    assert token not in Redactor().text(json.dumps({"log": f"first\n{token}"}))


@pytest.mark.parametrize(
    "text",
    [
        "0123456789abcdef0123456789abcdef01234567",
        "123e4567-e89b-12d3-a456-426614174000",
        "call_0a1B2c3D4e5F6g7H8i9J0k1L",
        "toolu_01A09q90qw90lq917835lq9",
        "chatcmpl-tool-0123456789abcdef0123456789abcdef",
        "fc_0123456789abcdef0123456789abcdef0123456789abcdef",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "SKU0123456789abcdef", "TASK0123456789abcdef0123456789abcdef",
        "2024-01-01T00:00:00.123456789:AA", "com.example.package.ClassOfALongName.aMethodOfALongNameWithArguments",
        "patterning.of.things", "secret_of_the_universe_and_of_everything_that_is_in_it",
    ],
)  # fmt: skip
def test_hashes_and_ids_are_no_tokens(text: str) -> None:
    assert Redactor().text(f"see {text} there") == f"see {text} there"
    assert Redactor().json([text]) == [text]
