"""Pages of HTML from the templates in `page/`: text is escaped, and nothing is loaded or run but what is ours."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay import __version__
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
