"""What each verb starts, connects to and writes, by strace, in a folder full of traps.

A new verb fails here until it is listed, and docs/security.md says the same.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from replay.cli import cli
from tests.conftest import ROOT, SERVERS
from tests.hostile.test_current_directory import PLANTED
from tests.pseudo_terminal import PseudoTerminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]
BESIDE = ("", "-wal", "-shm", "-journal", "-lock")
RUN = (*(f"replay-run.db{suffix}" for suffix in BESIDE), "replay-run.logs")
"""SQLite keeps its own files beside a run file, also beside one that is only read."""
OTHER = tuple(f"b.db{suffix}" for suffix in BESIDE)
SERVER = str(SERVERS / "counter.py")
NOWHERE = "http://127.0.0.1:9/v1"


@dataclass(frozen=True)
class Verb:
    """A command line, and what it may do beside reading."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    """Files and folders here, as they are named or by default; and what SQLite keeps beside a run file."""
    starts: str = ""
    """A program and, beside it, what finds libraries for it: a server of the fleet file, or of the command line."""
    sockets: bool = False


def verb(line: str, *writes: str, starts: str = "", sockets: bool = False) -> Verb:
    return Verb(tuple(shlex.split(line)), writes, starts, sockets)


VERBS: dict[str, tuple[Verb, ...]] = {
    "classify": (
        verb("classify a.json --fresh", *RUN, starts=SERVER),
        verb("classify a.json --offline --run b.db", *OTHER),
        verb("classify a.json --cassette kept.cassette --run b.db", *OTHER),
        verb("classify a.json --fresh --workers 2", *RUN, starts=SERVER, sockets=True),
        verb("classify results.zip --offline --run b.db", *OTHER),
    ),
    "browse": (verb("browse replay-run.db", *RUN),),
    "report": (
        verb("report", *RUN),
        verb("report --format html -o out.html", "out.html", *RUN),
        verb("report --call t:s1c1", *RUN),
    ),
    "compare": (verb("compare replay-run.db", *RUN), verb("compare a.json", *RUN)),
    "audit": (verb("audit", *RUN), verb("audit a.json", *RUN)),
    "diff": (verb("diff replay-run.db replay-run.db", *RUN),),
    "tools": (verb("tools", *RUN),),
    "label": (verb("label a.json"),),
    "known add": (verb("known add t:s1c1 --note seen", "replay-known.yaml", *RUN),),
    "known list": (verb("known list", *RUN),),
    "known remove": (verb("known remove 0123456789ab", "replay-known.yaml", *RUN),),
    "figure": (
        verb("figure outcomes -o out.svg", "out.svg", *RUN, starts="fc-list"),
        verb("figure outcomes --data csv", *RUN),
    ),
    "shrink": (verb("shrink --call t:s1c1 -o repro", "repro", *RUN, starts=SERVER),),
    "align": (verb("align a.json --reference a.json", *RUN),),
    "record": (
        verb(f"record -o out.json -- {sys.executable} {SERVER}", "out.json", "out.json.partial", starts=SERVER),
        verb("record -o out.json --servers servers.yaml", "out.json", "out.json.partial", starts=SERVER),
    ),
    "convert": (verb("convert a.json -o converted", "converted"), verb("convert a.json --list")),
    "export": (verb("export --format openai -o exported", "exported", *RUN),),
    "watch": (verb("watch sessions --run b.db", *OTHER),),
    "show": (verb("show a.json"), verb("show results.zip"), verb("show a.json t")),
    "servers check": (verb("servers check", starts=SERVER),),
    "servers login": (verb("servers login ledger"),),
    "servers tools": (verb("servers tools", starts=SERVER),),
    "recover": (verb("recover replay-run.db", *RUN),),
    "cassette export": (verb("cassette export out.cassette", "out.cassette", *RUN),),
    "cassette serve": (verb("cassette serve kept.cassette"),),
    "demo": (verb("demo --run b.db", *OTHER),),
    "sessions": (verb("sessions --run b.db", *OTHER),),
    "mcp": (verb("mcp --run replay-run.db", *RUN),),
    "redact": (verb("redact a.json -o out.json", "out.json"),),
    "judge": (
        verb("judge --judges judges.yaml --protocol mcpeval --dry-run", *RUN),
        verb("judge --judges judges.yaml --protocol mcpeval", *RUN, starts="/bin/uname", sockets=True),
    ),
    "drive": (verb(f"drive a.json --model m --base-url {NOWHERE} -o driven", "driven", starts=SERVER, sockets=True),),
}


def all_verbs(group: click.Group, prefix: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from all_verbs(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}"


def test_every_verb_is_listed_here_and_in_the_page() -> None:
    assert sorted(VERBS) == sorted(all_verbs(cli))
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}
    assert {name.split()[0] for name in VERBS} <= {name.split()[0] for name in rows}


STEPS = [
    {"step": 1, "calls": [{"name": "ledger/nothing", "arguments": {}, "result": "Error: unknown tool nothing"}]},
    {"step": 2, "calls": [{"name": "ledger/increment", "arguments": {}, "result": "1"}]},
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a stranger may make one, with a home and a place for temporary files beside it."""
    base = tmp_path_factory.mktemp("stranger")
    folder = base / "clone"
    for name in ("clone/sessions", "home", "tmp", "victim"):
        (base / name).mkdir(parents=True)
    (base / "victim" / "precious").write_text("precious")
    (folder / "a.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": STEPS}]))
    shutil.copy(folder / "a.json", folder / "sessions" / "s.json")
    shutil.make_archive(str(folder / "results"), "zip", folder, "a.json")
    spec = {"command": sys.executable, "args": [SERVER], "effects": "sandboxed"}
    (folder / "servers.yaml").write_text(json.dumps({"version": 1, "servers": {"ledger": spec}}))
    (folder / "judges.yaml").write_text(
        json.dumps({"version": 1, "judges": {"j": {"base_url": NOWHERE, "model": "m"}}})
    )
    known = {"format": "replay.known", "version": 1, "failures": {"0123456789ab": {"note": "known"}}}
    (folder / "replay-known.yaml").write_text(json.dumps(known))
    for words in (["classify", "a.json"], ["cassette", "export", "kept.cassette"]):
        done = subprocess.run([replay_command(), *words], cwd=folder, env=environment(base), check=False, timeout=300)
        assert done.returncode == 0
    set_traps(base, folder)
    return folder


def set_traps(base: Path, folder: Path) -> None:
    trap = f"open({str(base / 'ran')!r}, 'a').write(__name__)\n"
    for name in [*PLANTED, "evil_backend", "conftest", "setup"]:
        (folder / f"{name}.py").write_text(trap)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(trap)
    (folder / "matplotlibrc").write_text("backend: module://evil_backend\n")
    (folder / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    (folder / ".env").write_text("PYTHONPATH=.\nREPLAY_TRUST=all\n")
    (folder / "pyvenv.cfg").write_text("home = .\n")
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"command": str(folder / "evil.sh")}}}))
    (folder / "evil.sh").write_text(f"#!/bin/sh\ntouch {base / 'ran'}\n")
    (folder / "evil.sh").chmod(0o755)
    for name in ("python", "python3", "uv", "uvx", "npx", "git", "vim", "sh", "less"):
        shutil.copy(folder / "evil.sh", folder / name)
    outputs = ("out.html", "out.svg", "out.json", "out.cassette", "replay-known.yaml", "repro", "replay-labels.yaml")
    for name in outputs:
        for suffix in (".tmp", ".part", ".new", "~", ".bak"):
            for planted in (f"{name}{suffix}", f".{name}{suffix}"):
                (folder / planted).symlink_to(base / "victim" / "precious")
    (folder / "replay-run.db-journal.tmp").symlink_to(base / "victim" / "precious")
    os.mkfifo(folder / "sessions" / "pipe.json")
    (folder / "sessions" / "link.json").symlink_to("/dev/zero")


def replay_command() -> str:
    command = shutil.which("replay", path=str(Path(sys.executable).parent))
    assert command is not None
    return command


def environment(base: Path) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG_", "REPLAY_"))
    }
    return {
        **inherited,
        "HOME": str(base / "home"),
        "TMPDIR": str(base / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TERM": "xterm-256color",
    }


CALLS = (
    "execve,execveat,socket,connect,bind,open,openat,openat2,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,mknod,mknodat,chmod,fchmodat,chown,lchown,fchownat,utimensat"
)


def traced(folder: Path, given: Verb) -> tuple[list[str], str]:
    """The system calls that worked, and what was printed."""
    base = folder.parent
    log = base / "trace"
    log.unlink(missing_ok=True)
    command = ["strace", "-f", "-y", "-qq", "-s", "4096", "--seccomp-bpf", "-e", f"trace={CALLS}", "-e", "signal=none"]
    command += ["-o", str(log), replay_command(), *given.words]
    if given.words[0] == "browse":
        terminal = PseudoTerminal(command, folder, environment(base))
        terminal.wait_for(b"Overview")
        for keys in (b"2", b"\r", b"3", b"4", b"\x11"):
            terminal.send(keys)
            terminal.read(0.3)
        terminal.read_to_end(60)
        terminal.hang_up()
        printed = terminal.written.decode("utf-8", "replace")
    elif given.words[0] == "watch":
        printed = watched(command, folder, base)
    else:
        done = subprocess.run(
            command, cwd=folder, env=environment(base), capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=300,
        )  # fmt: skip
        printed = done.stdout + done.stderr
        assert done.returncode not in (2, 70) or given.words[0] == "servers", printed
    assert "Traceback" not in printed
    lines = (line.split(maxsplit=1)[1] for line in joined(log.read_text("utf-8", "replace").splitlines()))
    return [line for line in lines if re.search(r"\) += -1 ", line) is None], printed


def watched(command: list[str], folder: Path, base: Path) -> str:
    """Until it has judged what is there."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment(base), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "s.json" in line:
            os.killpg(process.pid, signal.SIGINT)
            break
    printed += process.stdout.read()
    process.stdout.close()
    process.wait(60)
    return printed


def joined(lines: list[str]) -> Iterator[str]:
    """Calls that another thread interrupted, in one line."""
    begun: dict[str, str] = {}
    for line in lines:
        process = line.split(maxsplit=1)[0]
        if line.endswith("<unfinished ...>"):
            begun[process] = line.removesuffix("<unfinished ...>")
        elif match := re.match(r"\d+ +<\.\.\. \w+ resumed>(.*)", line):
            yield begun.pop(process, "") + match[1]
        else:
            yield line


def started(calls: list[str]) -> list[str]:
    """The programs and their arguments, but for the first, which is replay."""
    return [line for line in calls if line.startswith("execve")][1:]


def written(calls: list[str], folder: Path) -> set[str]:
    """The real paths of what was made, changed or removed."""
    found: set[str] = set()
    for line in calls:
        name = line.partition("(")[0]
        if name in {"open", "openat", "openat2", "creat"}:
            flags = re.search(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)", line)
            opened = re.search(r"= \d+<(.*)>$", line)
            if (flags or name == "creat") and opened:
                found.add(opened[1])
        elif name not in {"execve", "execveat", "socket", "connect", "bind"}:
            at = [Path(place) for place in re.findall(r"<([^<>]*)>", line)] or [folder]
            for number, path in enumerate(re.findall(r'"((?:[^"\\]|\\.)*)"', line)):
                found.add(os.path.normpath(at[min(number, len(at) - 1)] / path))
    return {
        path
        for path in found
        if not re.match(r"(/dev/(null|tty|pts/|ptmx|shm/|urandom)|/proc/|pipe:|socket:|/memfd:)", path)
    }


@pytest.mark.parametrize(
    "given", [given for verbs in VERBS.values() for given in verbs], ids=lambda given: " ".join(given.words[:5])
)
def test_a_verb_starts_connects_and_writes_what_its_row_says_and_nothing_else(clone: Path, given: Verb) -> None:
    base = clone.parent
    calls, printed = traced(clone, given)
    programs = started(calls)
    python = "|".join(map(re.escape, (str(Path(sys.executable).with_name("python")), os.path.realpath(sys.executable))))
    client = r"|/(?:usr/)?bin/uname" if given.words[0] == "drive" else ""  # the openai client asks what the machine is
    own = rf'execve\("((?:{python})[\d.]*|/sbin/ldconfig{client})"'
    if given.starts:
        assert [line for line in programs if re.match(own, line) is None and given.starts not in line] == []
        assert given.words[0] in {"record", "figure", "judge"} or any(given.starts in line for line in programs), (
            printed
        )
    else:
        assert programs == [], printed
    internet = [line for line in calls if re.match(r"(socket|connect|bind)\(.*AF_INET", line)]
    assert given.sockets or internet == []
    outside = {path for path in written(calls, clone) if not is_allowed(Path(path), clone, given)}
    assert outside == set(), printed
    assert not (base / "ran").exists(), (base / "ran").read_text()
    assert (base / "victim" / "precious").read_text() == "precious"
    assert [path.name for path in (base / "victim").iterdir()] == ["precious"]


def is_allowed(path: Path, folder: Path, given: Verb) -> bool:
    """Whether a path is one that was named, its temporary neighbour, or below the temporary or the cache directory."""
    base = folder.parent
    if path.is_relative_to(base / "tmp") or path.is_relative_to(base / "home" / ".cache"):
        return True
    if given.words[0] == "figure" and path in {base / "home/.config", base / "home/.config/matplotlib"}:
        return True  # matplotlib makes it for itself
    for name in given.writes:
        temporary = rf"{re.escape(name[:40])}\.[0-9a-f]{{16}}\.tmp"
        if path.is_relative_to(folder / name) or (path.parent == folder and re.fullmatch(temporary, path.name)):
            return True
    return False
