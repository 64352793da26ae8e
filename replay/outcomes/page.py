"""The page that explains every rule."""

from __future__ import annotations

RULES: tuple[object, ...] = ()


def rules_markdown() -> str:
    """docs/rules.md."""
    return "# Rules\n"
