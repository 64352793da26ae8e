"""No byte that a terminal would act on comes from outside: each field, verb and screen, read at the terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color

from replay.cli.terminal import SafeStream
from replay.safety.text import one_line, printable, printable_json
from replay_tui.terminal import PLAIN_TEXT
from tests.conftest import SERVERS
from tests.pseudo_terminal import PseudoTerminal, terminal_of

EVIL = "\x1b]52;c;UFdORUQ=\x07\x1b]2;PWNED\x07\x1b[31;45m\x9b31;45mC1\x9d2;x\x9c\u202eevil\u200b\u2066\x7f\x08"
"""OSC 52, OSC 2, CSI and OSC as C1 characters, bidirectional override and isolate, zero width space, DEL, backspace."""

PLANTED = (b"\x1b]52", b"\x1b]2;", b"PWNED\x07", b"\x1b[31;45m", b"\x08")
PLANTED_CHARACTERS = tuple(character.encode() for character in "\x9b\x9c\x9d\u202e\u200b\u2066")

ALL_VERBS = """
import json, sys
from replay.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    print("$", json.dumps(arguments[:3]))
    try:
        main()
    except SystemExit as end:
        print("\\n@exit", end.code)
"""


def results(path: Path, name: str = EVIL) -> Path:
    """A results file in which every field is as bad as can be."""
    calls: list[dict[str, Any]] = [
        {"name": "evil/refuse", "arguments": {EVIL: EVIL}, "result": EVIL},
        {"name": f"evil/{name}", "arguments": {"a": [EVIL]}, "result": f"Error: {EVIL} not found"},
        {"name": EVIL, "arguments": EVIL, "result": f'{{"error": "{name}"}}'},
        {"name": "evil/fail", "arguments": {}, "result": {"error": EVIL}},
        {"name": "evil/take", "arguments": {"b": EVIL}, "result": None},
    ]
    steps = [{"step": number, "calls": [call], EVIL: EVIL} for number, call in enumerate(calls, 1)]
    one = {"type": EVIL, "question": EVIL, "steps": steps, "final_reply": EVIL, EVIL: EVIL}
    path.write_text(json.dumps([{"id": EVIL, **one}, {"id": f"two{EVIL}", **one}]))
    return path


def unsafe_in(written: bytes) -> set[str]:
    text = written.decode("utf-8").replace("\r\n", "\n")
    return {character for character in text if character != "\r" and printable(character) != character}


def test_no_verb_lets_anything_through(tmp_path: Path) -> None:
    file = str(results(tmp_path / f"{EVIL}_test_mcp_fuzzy.json"))
    reference = str(results(tmp_path / "reference.json"))
    server = {"command": sys.executable, "args": [str(SERVERS / "escapes.py")], "effects": "sandboxed"}
    fleet = {"evil": server, "dies": {**server, "args": [*server["args"], "dies"]}}
    (tmp_path / "servers.yaml").write_text(json.dumps({"version": 1, "servers": fleet}))
    offline = ["classify", file, "--offline", "--run", "run.db"]
    verbs = [
        ["classify", file, "--run", "live.db"],
        *([*offline, *more] for more in ([], ["--json"], ["--csv"], ["--only", EVIL])),
        ["classify", EVIL],
        *(["show", file, *more] for more in ([], ["--json"], [EVIL], [EVIL, "--json"], [EVIL, "--dot"], ["none"])),
        ["show", file, EVIL, "--mermaid"],
        ["convert", file, "-o", EVIL],
        *(["report", "live.db", "--format", form] for form in ("markdown", "html", "json", "csv", "junit", "svg")),
        ["report", "live.db", "--call", f"{EVIL}:s1c1"],
        *(["diff", "run.db", "live.db", *more] for more in ([], ["--json"])),
        *(
            ["align", file, "--reference", reference, *more]
            for more in ([], ["--json"], ["--csv"], ["--explain", EVIL])
        ),
        ["servers", "check"],
        ["servers", "check", "--json"],
        ["servers", "tools", "evil"],
        ["servers", "tools", "evil", "--json"],
        ["servers", "check", EVIL],
        ["shrink", "live.db", "--call", f"{EVIL}:s1c1", "-o", "repro"],
        ["cassette", "export", EVIL, "x"],
        ["record", "-o", "r.trajectory.json", "--", EVIL],
        [EVIL],
    ]
    with terminal_of(["-c", ALL_VERBS, json.dumps(verbs)], tmp_path, CI="1") as terminal:
        written = terminal.read_to_end(280)
    assert unsafe_in(written) == set()
    assert written.count(b"\n@exit ") == len(verbs)
    assert b"@exit 70" not in written
    assert b"\\x9b31" in written
    assert b"\\u202eevil" in written


def test_no_screen_of_the_browser_lets_anything_through(tmp_path: Path) -> None:
    file = results(tmp_path / f"{EVIL}_test_mcp_fuzzy.json")
    with terminal_of(["-m", "replay", "browse", file.name], tmp_path) as terminal:
        terminal.wait_for(b"Overview")
        for keys in SCREENS:
            terminal.send(keys)
            terminal.read(0.3)
        assert terminal.process.poll() is None, terminal.written[-3000:]
        refuse_planted(terminal)
        terminal.send(b"\x11")
        terminal.read_to_end(30)
    refuse_planted(terminal)
    assert b"\\u202eevil" in terminal.written


SCREENS = (
    b"\r", b"\x1b[B", b"\r", b"1", b"\t", b"\r", b"\t\t", b"\r", b"2", b"\r", b"y", b"o", b"?", b"\x1b", b"3", b"w",
    b"\x1b", b"n", b"4", b"5", b"\x10", b"evil", b"\x1b", b"2", b"/", b"tool:", b"\x1b[B", b"\r", b"\r", b"t", b"1",
)  # fmt: skip
"""Keys that open a row of each table, each screen, the help, the palette, the filter with its completions."""


def refuse_planted(terminal: PseudoTerminal) -> None:
    copied = terminal.written
    while (start := copied.find(b"\x1b]52;c;")) >= 0:  # what `y` copies: base64 of a diagnosis of ours, not theirs
        end = copied.index(b"\x07", start)
        assert b"UFdORUQ=" not in copied[start:end]
        copied = copied[:start] + copied[end + 1 :]
    planted = [*PLANTED, *PLANTED_CHARACTERS]
    found = {each: copied[copied.find(each) - 60 :][:120] for each in planted if each in copied}
    assert not found


hostile_text = st.text(
    st.one_of(st.characters(), st.characters(max_codepoint=0xFF), st.sampled_from(EVIL + "\u2028\ud800\U000e0041"))
)


@given(text=hostile_text)
def test_what_is_written_holds_nothing_that_a_terminal_acts_on(text: str) -> None:
    behind = io.StringIO()
    SafeStream(behind).write(text)
    (segment,) = PLAIN_TEXT.apply([linked_segment(text)], Color(0, 0, 0))
    for shown in (behind.getvalue(), printable(text), one_line(text, 20), segment.text):
        assert printable(shown) == shown
        shown.encode()


@given(value=st.dictionaries(hostile_text, hostile_text, max_size=3))
def test_json_is_made_safe_and_means_the_same(value: dict[str, str]) -> None:
    written = printable_json(value)
    assert json.loads(written) == value
    assert printable(written) == written


def linked_segment(text: str) -> Any:
    from rich.segment import Segment
    from rich.style import Style

    return Segment(text, Style(link="https://example.org/\x1b]2;x"))


def test_a_link_in_a_style_is_not_handed_on() -> None:
    (segment,) = PLAIN_TEXT.apply([linked_segment("text")], Color(0, 0, 0))
    assert segment.style.link is None


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_stream_writes_what_the_stream_cannot_encode_as_an_escape(encoding: str) -> None:
    raw = io.BytesIO()
    door = SafeStream(io.TextIOWrapper(raw, encoding=encoding))
    door.write("漢\ud800\x1b")
    door.flush()
    assert b"\\x1b" in raw.getvalue()
    assert b"\x1b" not in raw.getvalue()
