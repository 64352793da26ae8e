"""Writes the pages of docs/ that come from the code: the command line, the rules, the tables of the run file.

Run by `make docs`; a test fails when a page is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from replay.cli import VERBS, cli
from replay.diagnosis.finding_kinds import findings_markdown
from replay.outcomes import rules_markdown
from replay.runfile.schema import TABLES, VERSION

DOCS = Path(__file__).parent


def command_line() -> str:
    """Every verb with every option, as `--help` prints it."""
    parts = ["# Command line\n\nGenerated from the verbs by `make docs`.\n", _section("replay", cli)]
    context = click.Context(cli, info_name="replay")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        if command is None:
            raise LookupError(verb)
        parts += [_section(name, each) for name, each in _with_subcommands(f"replay {verb}", command)]
    return "\n".join(parts)


RUN_FILE = """\
# The run file

`replay classify` keeps everything in one SQLite file in WAL mode, `replay-run.db` by default. `browse`, `report` and
`diff` read it, also while it grows, and so does any SQLite tool. Secrets are taken out before anything is written.
This is version {version} of its format; the table `meta` says which one a file has.

The failures of a run, the most frequent first:

```sql
SELECT server, tool, outcome, count(*) FROM calls
WHERE outcome NOT IN ('success', 'inconclusive') GROUP BY 1, 2, 3 ORDER BY 4 DESC;
```

## Tables

```sql
{tables}
```
"""


def run_file() -> str:
    """The tables of the run file."""
    return RUN_FILE.format(version=VERSION, tables=TABLES.strip())


PAGES = {"cli.md": command_line, "findings.md": findings_markdown, "rules.md": rules_markdown, "run-file.md": run_file}
"""File name -> what it says."""


def _with_subcommands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        yield from ((f"{name} {sub}", each) for sub, each in command.commands.items())


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    return f"## {name}\n\n```text\n{text}\n```\n"


def main() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
