"""For pytest: trajectories replayed against a server of the test's own, with cassettes recorded on the first run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from replay import Run

MODES = ("once", "none", "all")
MARKER = (
    "replay(*files, servers=None, cassette=None, live=False, allow_effects=()): replay these trajectory files, whose "
    "paths begin at the test's folder, for the fixture replay_run"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--record-mode`, where no other plugin for recordings brings it."""
    if find_spec("pytest_recording") is None:
        parser.getgroup("replay").addoption(
            "--record-mode",
            choices=MODES,
            default="once",
            help="Cassettes of replay: once records those that are missing, none starts no server, all records anew.",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Tell of the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def replay_run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """The run of the files that the test's marker `replay` names: every call is judged.

    With `servers` the calls are sent to that fleet once, and the answers kept in a cassette beside the test
    (`cassettes/MODULE.TEST.jsonl`, or as `cassette` says), which answers from then on. A call that the cassette lacks
    fails the test. `live=True` keeps none. Without `servers` the recorded answers are judged.
    """
    from replay import classify

    marker = request.node.get_closest_marker("replay")
    if marker is None or not marker.args:
        pytest.fail('replay_run needs the marker: @pytest.mark.replay("failure.trajectory.json", servers=...)')
    folder = request.path.parent
    options = dict(marker.kwargs)
    servers = folder / options["servers"] if options.get("servers") else None
    settings: dict[str, Any] = {"servers": servers, "allow_effects": options.get("allow_effects", ())}
    paths = [folder / name for name in marker.args]
    kept = folder / (options.get("cassette") or f"cassettes/{request.path.stem}.{_file_stem(request.node.name)}.jsonl")
    mode = request.config.getoption("--record-mode") or "none"
    if servers is not None and not options.get("live"):
        if mode == "none" and not kept.exists():
            pytest.fail(f"there is no cassette {kept}; record it with --record-mode once")
        if kept.exists() and mode not in {"all", "rewrite"}:
            settings["cassette"] = kept
    with classify(paths, **settings) as run:
        if "cassette" in settings:
            _check_answered(run, kept)
        elif servers is not None and not options.get("live"):
            _record(run, kept)
        yield run


@pytest.fixture
def assert_no_new_failures(request: pytest.FixtureRequest) -> Callable[[Run], None]:
    """A function that fails where a run has failures which `replay-known.yaml`, here or above, does not have."""
    from replay.analysis.known_failures import failures_of, find_known_file, read_known_file
    from replay.runfile import Run as RunFile

    def check(run: Run) -> None:
        book = read_known_file(find_known_file(run.path, request.path.parent))
        with RunFile.read(run.path) as opened:
            failures = failures_of(opened, book.failures)
        unknown = [failure for failure in failures if failure.known is None]
        new = [f"{failure.fingerprint} {failure.address}: {failure.sentence}" for failure in unknown]
        if new:
            pytest.fail("\n".join([f"{len(new)} new failures (replay known add FINGERPRINT notes one):", *new]))

    return check


def _check_answered(run: Run, cassette: Path) -> None:
    from replay.replayer.cassette import read_cassette
    from replay.runfile import Run as RunFile
    from replay.runfile.summary import calls_without_answer

    servers = [name for name, server in read_cassette(cassette).servers.items() if server.error is None]
    with RunFile.read(run.path) as opened:
        missed = calls_without_answer(opened, servers)
    if missed:
        pytest.fail(f"{cassette} has no answer to {', '.join(missed[:5])}; record it anew with --record-mode all")


def _record(run: Run, cassette: Path) -> None:
    from replay.replayer.cassette import export_cassette
    from replay.runfile import Run as RunFile

    cassette.parent.mkdir(parents=True, exist_ok=True)
    with RunFile.read(run.path) as opened:
        export_cassette(opened, cassette, force=True)


def _file_stem(name: str) -> str:
    from replay.safety.filesystem import file_stem

    return file_stem(name, 150) or "test"
