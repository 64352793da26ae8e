"""The generators of docs/, which are in no package, loaded by their path."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]


@cache
def script(name: str) -> ModuleType:
    """The module `docs/NAME.py`."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file, as the records say it now."""
    schema: dict[str, Any] = script("schemas").schema_of(name)
    return schema
