"""A server that says `sandboxed` is: it writes to its workspace, to what its fleet file allows, and nowhere else.

On Linux 6.2 or later the kernel sees to it (Landlock). Elsewhere a call is withheld if its arguments hold a path that
leads outside.
Also a program of its own: it confines itself, and then becomes the server.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

_MIN_ABI: Final = 3
"""Of Landlock: before this a file anywhere can be cut to nothing."""
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_MAX_PATHS: Final = 10_000
_MAX_PATH_LENGTH: Final = 4096
_PATH_IN_TEXT: Final = re.compile(
    r"""(?:(?<![\w.:/~$-])|(?<=file:)|(?<=file://))(?:[/~]|\$[\w{])[^\s"'`;,|<>()]*""", re.IGNORECASE
)
"""Where a text holds a path that begins at the root, at a home or with a variable; not the path of a URL."""
_UPWARD: Final = re.compile(r"""[^\s"'`;,|<>()]*\.\.(?:[/\\][^\s"'`;,|<>()]*|(?=$|[\s"'`;,|<>()]))""")
_VARIABLE: Final = re.compile(r"\$[\w{]")
_DRIVE: Final = re.compile(r"(?<!\w)[A-Za-z]:[\\/]|\\\\\w")


@cache
def can_confine() -> bool:
    """Whether the kernel can keep a server from writing outside."""
    try:
        from landlockpy import abi_version

        return abi_version() >= _MIN_ABI
    except (ImportError, OSError):
        return False


def confined(command: Sequence[str], writable: Sequence[Path]) -> tuple[str, ...]:
    """The command line that starts a program which can write only below these directories, and to its own pipes."""
    return (sys.executable, "-I", __file__, json.dumps([str(path) for path in writable]), *command)


def caches_of(program: str, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The directories that a program which fetches and runs packages keeps them in.

    Args:
        program: its path.
        env: its environment.
    """
    name = Path(program).name
    if name in {"uv", "uvx", "pipx"}:
        home = _home(env)
        cache_home = Path(env.get("XDG_CACHE_HOME") or home / ".cache")
        data_home = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
        own = {"uv": "UV_CACHE_DIR", "uvx": "UV_CACHE_DIR"}.get(name)
        kind = "pipx" if name == "pipx" else "uv"
        return Path((own and env.get(own)) or cache_home / kind), data_home / kind
    if name in {"npx", "npm", "pnpm", "bunx", "bun", "node"}:
        return (Path(env.get("npm_config_cache") or env.get("NPM_CONFIG_CACHE") or _home(env) / ".npm"),)
    return ()


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def first_path_outside(arguments: Any, workspace: Path, allowed: Sequence[Path]) -> str | None:
    """The first path in a call's arguments that leads out of the workspace and of what is allowed besides.

    A path that a server computes, as SQL and programs can, is not seen.
    """
    inside = [Path(os.path.realpath(path)) for path in (workspace, *allowed)]
    for number, path in enumerate(_paths_in(arguments)):
        if number >= _MAX_PATHS or not _is_below(path, workspace, inside):
            return path
    return None


def first_path_below(arguments: Any, workspace: Path, forbidden: Sequence[Path]) -> str | None:
    """The first path in a call's arguments that leads into one of these directories."""
    places = [Path(os.path.realpath(path)) for path in forbidden]
    found = (path for path in _paths_in(arguments) if _is_below(path, workspace, places))
    return next(found, None) if places else None


def _paths_in(value: Any) -> Iterator[str]:
    """What may be a path that leads out of the working directory, in any text of a JSON value."""
    if isinstance(value, str):
        for text in dict.fromkeys((value, unquote(value))):
            if _DRIVE.search(text):
                yield text
            yield from (match[0] for pattern in (_PATH_IN_TEXT, _UPWARD) for match in pattern.finditer(text))
            if len(text) <= _MAX_PATH_LENGTH:  # as a whole: it may lead through a link
                yield text.strip()
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _paths_in(key)
            yield from _paths_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _paths_in(item)


def _is_below(path: str, workspace: Path, directories: Sequence[Path]) -> bool:
    if _DRIVE.search(path) or "\0" in path or _VARIABLE.match(path):
        return False
    expanded = os.path.expanduser(path.replace("\\", "/"))  # noqa: PTH111 (any text may stand here; it never raises)
    try:
        real = Path(os.path.realpath(workspace / expanded))
    except (OSError, ValueError):
        return False
    return any(real.is_relative_to(directory) for directory in directories)


def main() -> None:
    """Confine this process, and become the command."""
    from landlockpy import AccessFS, AccessNet, Ruleset

    of_a_file = AccessFS.WRITE_FILE | AccessFS.TRUNCATE
    making = AccessFS.MAKE_CHAR | AccessFS.MAKE_DIR | AccessFS.MAKE_REG | AccessFS.MAKE_SOCK | AccessFS.MAKE_FIFO
    making |= AccessFS.MAKE_BLOCK | AccessFS.MAKE_SYM | AccessFS.REFER
    writing = of_a_file | making | AccessFS.REMOVE_DIR | AccessFS.REMOVE_FILE
    paths = [*json.loads(sys.argv[1]), *(f"/dev/{name}" for name in _DEVICES)]
    with Ruleset(handled_fs=writing, handled_net=AccessNet.NONE) as rules:
        for path in paths:
            if os.path.exists(path):  # noqa: PTH110 (starts at once)
                rules.allow_path(path, writing if os.path.isdir(path) else of_a_file)  # noqa: PTH112
        rules.restrict()
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 (the command line of the fleet file, as it is)


if __name__ == "__main__":
    main()
