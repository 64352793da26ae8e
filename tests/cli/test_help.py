from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import click
import pytest

from replay.cli import VERBS, cli

Replay = Callable[..., subprocess.CompletedProcess[str]]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        yield verb, command
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", sub) for name, sub in command.commands.items())


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=[name for name, _ in commands()])
def test_every_verb_has_help_with_an_example_and_every_option_says_what_it_does(
    name: str, command: click.Command
) -> None:
    assert command.help, name
    shown = f"{command.help}\n{command.epilog or ''}"
    assert f"replay {name.partition(' ')[0]}" in shown, f"{name} shows no example"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_what_the_verb_itself_says(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert (command.help or "").splitlines()[0] == VERBS[verb]


def test_help_goes_to_stdout_and_names_every_verb(replay: Replay) -> None:
    done = replay("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for verb in VERBS:
        assert verb in done.stdout


def test_a_misspelt_verb_is_a_usage_error(replay: Replay) -> None:
    done = replay("clasify")
    assert done.returncode == 2
    assert "clasify" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_option_is_a_usage_error(replay: Replay) -> None:
    done = replay("classify", "x.json", "--ofline")
    assert done.returncode == 2
    assert "--offline" in done.stderr


def test_a_former_name_of_a_verb_is_understood_and_not_shown(replay: Replay) -> None:
    done = replay("import", "--help")
    assert done.returncode == 0
    assert "Usage: replay convert" in done.stdout
    assert "import" not in replay("--help").stdout
