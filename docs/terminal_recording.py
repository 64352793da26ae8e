"""Draws docs/screenshots/demo.svg, the moving picture at the head of the README: `python docs/terminal_recording.py`.

Commands are typed, what they print appears, and the browser follows. Everything in it was printed by the commands
themselves. Where a reader wants no motion (`prefers-reduced-motion`) it shows the first scene, complete.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "screenshots" / "demo.svg"
COLUMNS, ROWS = 128, 36
WIDE, HIGH, MARGIN = 7.2, 17, 16
WIDTH, HEIGHT = COLUMNS * WIDE + 2 * MARGIN, ROWS * HIGH + 2 * MARGIN
SCENES = (
    ("replay demo", "demo", 9.0),
    ("replay show --run replay-demo.db tea-7b:sales-report", "show --run replay-demo.db tea-7b:sales-report", 8.0),
)
"""What is typed, the arguments that are run, and the seconds that it is seen."""
BROWSER = ("replay browse --run replay-demo.db", ("2", *"nnnnn", "enter"), 8.0)
"""What is typed, the keys that are pressed, and the seconds that it is seen."""
TYPING, PAUSE = 0.05, 0.5
TOTAL = sum(seconds for _, _, seconds in SCENES) + BROWSER[2]
STYLE = f"""\
svg {{ background: #1e1e1e; border-radius: 8px }}
.said {{ font: 12px Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d4d4d4; white-space: pre }}
.typed {{ fill: #8fd18f }}
.cover {{ fill: #1e1e1e }}
.later {{ opacity: 0 }}
.scene, .cover {{ animation: {TOTAL}s infinite step-end }}
@media (prefers-reduced-motion: reduce) {{ .scene, .cover {{ animation: none !important }} .cover {{ opacity: 0 }} }}
"""


def printed(arguments: str, directory: Path) -> list[str]:
    """The lines that a command prints, broken where the terminal ends."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    command = [sys.executable, "-m", "replay", *shlex.split(arguments)]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.rstrip().splitlines()
    return [line[i : i + COLUMNS] for line in lines for i in range(0, max(len(line), 1), COLUMNS)]


def moments(*steps: tuple[float, str]) -> str:
    """Key frames from seconds and declarations."""
    return " ".join(f"{100 * seconds / TOTAL:.3f}% {{ {said} }}" for seconds, said in steps)


def scene(name: str, start: float, typed: str, seconds: float, picture: str) -> tuple[str, str]:
    """A scene as a group, and its key frames.

    Args:
        name: of the scene in the picture.
        start: when it begins.
        typed: the command.
        seconds: how long it is seen.
        picture: what appears when the command was typed.
    """
    begun, ended = start + PAUSE, start + PAUSE + TYPING * len(typed)
    across = [(begun + TYPING * i, f"transform: translateX({WIDE * i:.1f}px)") for i in range(len(typed) + 1)]
    shown = moments((0, f"opacity: {int(not start)}"), (start, "opacity: 1"), (start + seconds, "opacity: 0"))
    frames = [
        f"@keyframes {name} {{ {shown} }}",
        f"@keyframes {name}-type {{ {moments((0, 'transform: none'), *across)} }}",
        f"@keyframes {name}-print {{ {moments((0, 'opacity: 1'), (ended + PAUSE, 'opacity: 0'))} }}",
    ]
    left = MARGIN + 2 * WIDE
    group = (
        f'<g class="scene{" later" if start else ""}" style="animation-name: {name}">{picture}'
        f'<text class="said" x="{MARGIN}" y="{MARGIN + HIGH}">$ <tspan class="typed">{escape(typed)}</tspan></text>'
        f'<rect class="cover" x="{left}" y="{MARGIN}" width="{WIDTH}" height="{HIGH * 1.4:.1f}"'
        f' style="animation-name: {name}-type"/>'
        f'<rect class="cover" y="{MARGIN + 1.4 * HIGH:.1f}" width="{WIDTH}" height="{HEIGHT}"'
        f' style="animation-name: {name}-print"/></g>'
    )
    return group, "\n".join(frames)


def lines_of(lines: list[str]) -> str:
    """Lines of text below the command."""
    return "".join(
        f'<text class="said" x="{MARGIN}" y="{MARGIN + HIGH * number}">{escape(line)}</text>'
        for number, line in enumerate(lines, start=3)
        if line
    )


async def browser(run_path: Path, keys: tuple[str, ...]) -> str:
    """The browser after some keys, below the command."""
    open_run = OpenRun(run_path, label="replay-demo.db")
    app = BrowseApp(open_run)
    async with app.run_test(size=(COLUMNS, ROWS - 3)) as pilot:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.3)
        svg = app.export_screenshot(title="replay browse")
    open_run.close()
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("&#160;", "\N{NO-BREAK SPACE}")
    top = MARGIN + 2 * HIGH
    box = f'x="{MARGIN}" y="{top}" width="{WIDTH - 2 * MARGIN}" height="{HEIGHT - top - MARGIN}"'
    return svg.replace("<svg ", f'<svg {box} preserveAspectRatio="xMidYMin" ', 1)


def draw(directory: Path) -> str:
    """The moving picture; its commands are run in a folder."""
    groups: list[str] = []
    frames: list[str] = []
    start = 0.0
    for number, (typed, arguments, seconds) in enumerate(SCENES):
        picture = lines_of(printed(arguments, directory))
        group, moves = scene(f"s{number}", start, typed, seconds, picture)
        groups.append(group)
        frames.append(moves)
        start += seconds
    picture = asyncio.run(browser(directory / "replay-demo.db", BROWSER[1]))
    group, moves = scene("browser", start, BROWSER[0], BROWSER[2], picture)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT}" role="img">'
        f"<title>replay demo, replay show and replay browse in a terminal</title>"
        f"<style>{STYLE}{chr(10).join([*frames, moves])}</style>\n" + "\n".join([*groups, group]) + "</svg>\n"
    )


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        OUTPUT.write_text(draw(Path(folder)), "utf-8")
