"""The command line: one file per verb. Verbs are imported when they are used, so that `--help` stays quick."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import click

from replay import __version__
from replay.cli.terminal import VERBOSE, discard_stdout, error_text, make_streams_safe
from replay.errors import ReplayError

VERBS = {
    "demo": "Judge bundled samples, without servers or network.",
    "sessions": "Say what failed in the sessions of this machine's coding agents.",
    "classify": "Put every call into one of five outcomes, by replaying it.",
    "browse": "Browse the failures of a run in the terminal.",
    "report": "Write a diagnosis: markdown, html, json, csv, junit or svg.",
    "compare": "Set many models side by side, with intervals and tests.",
    "audit": "Tell how much of a benchmark's scores is the models' own.",
    "diff": "Compare runs over time, two models of one run, or two sessions of one task.",
    "tools": "Show the author of a server how models call each tool, and what to rewrite.",
    "label": "Say once what answers mean that rest on nothing; survey recorded answers.",
    "known": "Mark failures as known, with a note or the address of an issue.",
    "figure": "Draw a figure for a paper or a slide, or write its numbers.",
    "shrink": "Find the smallest sequence of calls that shows a failure.",
    "align": "Align predicted calls with reference calls, and score them.",
    "judge": "Have models judge task runs by a paper's rubric, with prompts of our own.",
    "drive": "Have a model work on tasks through the fleet's servers, and record what it does.",
    "record": "Record a trajectory from any MCP client.",
    "convert": "Turn results files into DAG files, one a trajectory.",
    "export": "Write trajectories with their verdicts in the formats of other tools.",
    "watch": "Judge the session files of a folder as they come and grow.",
    "mcp": "Serve an agent that asks about its own failures.",
    "show": "Print a trajectory: its steps, calls and data edges.",
    "servers": "Check a fleet's servers, list their tools, and log in to them.",
    "redact": "Replace secrets, home paths, people and hosts in a session, to attach it.",
    "recover": "Save what can be read of a damaged run file or recording.",
    "cassette": "Export the answers of a run, to replay them without servers, or serve them.",
}
"""Each verb, which stands in the module of its name, and its line in the help (a test holds it against the verb's own
docstring)."""
_FORMER_NAMES = {"import": "convert"}
"""What verbs were called, which is understood still, and shown nowhere."""
_OBJECTS_A_COLLECTION = 50_000
"""With Python's own 700, what a large file or tools/list is made of is walked again and again while it is read."""


class _Verbs(click.Group):
    """Imports a verb when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(f"replay.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from replay.suggestions import nearest_name

        args = [_FORMER_NAMES.get(args[0], args[0]), *args[1:]] if args else args
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            nearest = nearest_name(args[0], VERBS)
            hint = f"; did you mean {nearest}?" if nearest else f"; there are {', '.join(VERBS)}"
            ctx.fail(f"there is no verb {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: replay demo, or replay classify results/*.json    Each verb has its own --help with examples.",
)
@click.version_option(__version__, prog_name="replay")
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error. Works with every verb."
)
@click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    help="Tell of a file of no known format which shapes are read. Works with every verb.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Replay and diagnose the tool-call trajectories of MCP agents.

    Without a verb: what failed in the sessions of this machine's coding agents.
    """
    if context.invoked_subcommand is None:
        from replay.cli.sessions import sessions

        context.invoke(sessions)


def main() -> NoReturn:
    """Run the command line; every error is one line on stderr and an exit code."""
    make_streams_safe()
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    arguments, debug = _without(sys.argv[1:], "--debug", "REPLAY_DEBUG")
    arguments, verbose = _without(arguments, "--verbose", VERBOSE)
    os.environ.update({VERBOSE: "1"} if verbose else {})
    try:
        if "_REPLAY_COMPLETE" in os.environ:
            cli.main(arguments, prog_name="replay")
        with cli.make_context("replay", arguments) as context:  # `cli.main` takes a broken pipe for a failure
            code = cli.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        if debug and not isinstance(error, SystemExit | click.exceptions.Exit):
            raise
        code = _report_error(error)
    sys.exit(code if isinstance(code, int) else 0)


def _without(arguments: list[str], flag: str, variable: str) -> tuple[list[str], bool]:
    """Take a flag out, wherever it stands before a `--`; whether it was there, or its variable is set."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    head = [argument for argument in arguments[:end] if argument != flag]
    return head + arguments[end:], len(head) < end or bool(os.environ.get(variable))


def _report_error(error: BaseException) -> int:
    """Print what went wrong in one line, and return the exit code."""
    causes = list(_leaves(error))
    match next((cause for cause in causes if isinstance(cause, ReplayError)), causes[0]):
        case ReplayError() as replay_error:
            _echo_error(error_text(replay_error))
            return replay_error.exit_code
        case click.exceptions.Exit() as exit_request:
            return exit_request.exit_code
        case click.Abort() | KeyboardInterrupt():
            _echo_error("interrupted; what was done is kept, the same command goes on from there")
            return 130
        case click.ClickException() as usage_error:
            usage_error.show()
        case SystemExit() as system_exit:
            return system_exit.code if isinstance(system_exit.code, int) else 1
        case BrokenPipeError():
            discard_stdout()
            return 0
        case OSError() as os_error:
            _echo_error(f"{os_error.filename or 'the output'}: {os_error.strerror or os_error}")
        case bug if type(bug).__module__ == "sqlite3":
            _echo_error(f"the run file: {bug}; name another with --run")
        case bug:
            _echo_error(f"internal error: {type(bug).__name__}: {bug}. Please report it, with what --debug shows")
            return 70
    return 2


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _echo_error(text: str) -> None:
    from replay.safety.text import printable

    click.echo(f"replay: {printable(text)}", err=True)
