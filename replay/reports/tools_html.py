"""`replay tools` as one HTML file that loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.records.tool_usage import ToolReport
from replay.reports.tool_sections import (
    HEADINGS,
    advice_lines,
    has_trouble,
    headline,
    numbers,
    sections,
    stray_lines,
    tool_title,
    uncalled_lines,
)
from replay.safety.text import one_line, printable

_STYLE: Final = """
main section details { border: 0 } .tools h2 { overflow-wrap: anywhere } .tools ul { margin: 0; padding-left: 1.2rem }
.tools li { overflow-wrap: anywhere } .advice td { overflow-wrap: anywhere } .advice td:first-child { width: 22% }
.tools a { color: var(--accent) } .numbers td { white-space: nowrap }
"""


def tools_html(report: ToolReport) -> str:
    """The page; every text in it is escaped."""
    folder = files("replay.reports") / "page"
    style = (folder / "page.css").read_text("utf-8") + _STYLE
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = printable
    page = environment.from_string((folder / "tools.html").read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return page.render(
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        style=Markup(style),  # noqa: S704 - ours
        version=__version__,
        headline=headline(report),
        headings=HEADINGS,
        tools=[
            {
                "id": f"tool-{number}",
                "name": one_line(tool.name, 100),
                "title": tool_title(tool),
                "numbers": numbers(tool),
                "trouble": has_trouble(tool),
                "sections": list(sections(tool)),
                "advice": advice_lines(tool),
            }
            for number, tool in enumerate(report.tools)
        ],
        lists=[
            (title, lines)
            for title, lines in (
                ("Names that are no tool", stray_lines(report)),
                ("Listed, and called by nobody", uncalled_lines(report)),
            )
            if lines
        ],
    )
