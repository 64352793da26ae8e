from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.scripts import ROOT, schema_of, script

SCHEMAS = ROOT / "schemas"
DOCUMENTS = script("schemas").DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_schema_on_disk_is_what_the_records_say(name: str) -> None:
    path = SCHEMAS / f"{name}.schema.json"
    assert path.read_text("utf-8") == script("schemas").text_of(name), "stale: run make schemas"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_schema_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


def test_no_other_schema_lies_about() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {f"{name}.schema.json" for name in DOCUMENTS}


def test_what_classify_prints_is_what_the_schema_says(
    replay: Callable[..., subprocess.CompletedProcess[str]], results_file: Callable[..., Path]
) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")], [("files/read", [1])]])
    document = json.loads(replay("classify", results, "--offline", "--json").stdout)
    jsonschema.validate(document, schema_of("run"))
