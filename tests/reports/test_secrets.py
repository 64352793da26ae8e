"""Planted secrets appear in nothing that is written: no report, run file, cassette, reproduction or log."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from replay.reports import FORMATS

SERVERS = Path(__file__).parents[1] / "servers"
API_KEY = "lk-7f3a9c51e2d84b06a1b2c3d4"
BEARER = "abcdef0123456789ABCDEF0123456789"
PLANTED = (API_KEY, BEARER, "AKIAIOSFODNN7EXAMPLE", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")


def texts_of_run(path: Path) -> Iterator[str]:
    """Every value of a run file; what is compressed is opened."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield zlib.decompress(value).decode() if is_packed(value) else str(value)


def is_packed(value: object) -> bool:
    return isinstance(value, bytes) and value[:1] == b"\x78"


def everything_written(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> tuple[list[str], dict[Path, str]]:
    """What was printed, and every file that was written, by every verb that writes."""
    fleet = {
        "version": 1,
        "servers": {
            "leaky": {
                "command": sys.executable,
                "args": [str(SERVERS / "leaky.py")],
                "env": {"LEAKY_API_KEY": "${LEAKY_API_KEY}"},
                "effects": "sandboxed",
                "state": "trajectory",
            }
        },
    }
    (tmp_path / "servers.yaml").write_text(json.dumps(fleet))
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    answer = f"aws AKIAIOSFODNN7EXAMPLE\n{pem}"
    calls = [
        {"name": "leaky/spill", "arguments": {}, "result": answer},
        {"name": "leaky/fail", "arguments": {"header": f"Authorization: Bearer {BEARER}"}, "result": "Error: no"},
    ]
    steps = [{"step": number, "calls": [one]} for number, one in enumerate(calls, 1)]
    results = [{"id": "t", "question": f"Use Bearer {BEARER} with {API_KEY}", "steps": steps, "final_reply": answer}]
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "m_test.json").write_text(json.dumps(results))
    printed = []

    def run(*words: str) -> None:
        done = replay(*words, LEAKY_API_KEY=API_KEY)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout + done.stderr)

    run("classify", "results/m_test.json", "--run", "run.db")
    run("classify", "results/m_test.json", "--run", "run.db", "--json")
    run("cassette", "export", "run.db", "answers.cassette.jsonl")
    for form in FORMATS:
        run("report", "run.db", "--format", form, "-o", f"whole.{form}")
        run("report", "run.db", "--format", form, "--call", "t:s2c1")
    run("report", "run.db", "--trajectory", "t")
    run("diff", "run.db", "run.db", "--json")
    run("shrink", "run.db", "--call", "t:s2c1", "-o", "repro")
    written = {path: path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()}
    del written[tmp_path / "results" / "m_test.json"]
    assert (tmp_path / "repro" / "repro.trajectory.json") in written
    return printed, written


def leaks(texts: Iterable[str]) -> set[tuple[str, str]]:
    """The secrets that stand in the texts, each with what is around it."""
    return {
        (secret, text[max(0, text.index(secret) - 60) :][:120])
        for text in texts
        for secret in PLANTED
        if secret in text
    }


def test_no_planted_secret_is_printed_or_written_to_a_report_a_run_a_cassette_or_a_reproduction(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    printed, written = everything_written(tmp_path, replay)
    runs = [text for path in tmp_path.rglob("*.db") for text in texts_of_run(path)]
    assert leaks([*printed, *runs, *(text for path, text in written.items() if path.suffix != ".log")]) == set()


def test_no_planted_secret_is_written_to_a_log(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    _, written = everything_written(tmp_path, replay)
    logs = [text for path, text in written.items() if path.suffix == ".log"]
    assert logs
    assert leaks(logs) == set()
