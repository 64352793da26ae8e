"""`replay demo`."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from replay.cli.options import run_option
from replay.cli.terminal import echo_err, typed_command

EXAMPLES = """\b
Examples:
  replay demo
  replay browse --run replay-demo.db     # then
"""


@click.command("demo", epilog=EXAMPLES)
@run_option("The run file, which is made anew.", Path("replay-demo.db"))
@click.pass_context
def demo(context: click.Context, run_path: Path) -> None:
    """Judge bundled samples, without servers or network.

    Two models' trajectories of seven tasks are judged by the answers of the servers they ran on, which are bundled as
    a cassette. What is printed is what `replay classify` prints.
    """
    from replay.cli.classify import classify

    with as_file(files("replay.cli") / "demo_data") as folder:
        samples = tuple(sorted(folder.glob("*.json")))
        cassette = folder / "cassette.jsonl"
        echo_err(f"judging {len(samples)} bundled sample files by recorded answers; nothing is started\n")
        context.invoke(
            classify,
            files=samples,
            fleet_path=folder / "servers.yaml",
            run_path=run_path,
            fresh=True,
            cassette=cassette,
        )
    again = " ".join(typed_command())
    echo_err(f"\nthen your own: {again} classify --offline FILES, or {again} classify FILES --servers mcp_servers.json")
