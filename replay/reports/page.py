"""Pages of HTML from the templates in `page/`: text is escaped, and nothing is loaded or run but what is ours."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.charts import svg
from replay.records.chart import Chart
from replay.reports.tables import Table
from replay.safety.text import printable


def page(template: str, *, style: str, script: str = "", **values: Any) -> str:
    """A page.

    Args:
        template: the name of a file in `page/`.
        style: its style sheet.
        script: its script.
        values: what the template names; every text among them is escaped.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = printable
    return environment.from_string(part(template)).render(
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        version=__version__,
        **values,
    )


def tables_page(
    title: str, charts: Iterable[tuple[str, Chart]], tables: Iterable[tuple[str, Table]], **values: Any
) -> str:
    """A page of charts, and tables below them.

    Args:
        title: of the page.
        charts: each under its heading, which is by default its own title.
        tables: each under its heading.
        values: what else `tables.html` names.
    """
    return page(
        "tables.html",
        style=part("tables.css") + svg.STYLE,
        title=title,
        charts=[(heading or chart.title, svg.drawn(chart), svg.drawn(chart, narrow=True)) for heading, chart in charts],
        tables=[(heading, table.html()) for heading, table in tables],
        **values,
    )


def part(*names: str) -> str:
    """Files of `page/`, one behind the other."""
    folder = files("replay.reports") / "page"
    return "".join((folder / name).read_text("utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    """Nothing is loaded from anywhere, and no script or style but ours is run."""
    ours = [
        f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in (("style", style), ("script", script))
        if text
    ]
    return "; ".join(["default-src 'none'", *ours, "base-uri 'none'", "form-action 'none'"])
