from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import jsonschema
import pytest

from replay.cli import cli
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


def test_no_other_schema_lies_about_and_a_page_lists_them() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {"README.md", *(f"{name}.schema.json" for name in DOCUMENTS)}
    assert (SCHEMAS / "README.md").read_text("utf-8") == script("schemas").overview(), "stale: run make schemas"


def test_what_classify_prints_is_what_the_schema_says(
    replay: Callable[..., subprocess.CompletedProcess[str]], results_file: Callable[..., Path]
) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")], [("files/read", [1])]])
    document = json.loads(replay("classify", results, "--offline", "--json").stdout)
    jsonschema.validate(document, schema_of("run"))


JSON_OF = {
    "align": "alignment",
    "audit": "audit",
    "classify": "run",
    "compare": "compare",
    "diff": "diff",
    "judge": "judge",
    "known list": "known-list",
    "label": "label",
    "servers check": "servers",
    "servers tools": "servers",
    "show": "show",
}
"""The verbs with `--json`, and the schema of what each prints; `diff` of more than two runs prints `history`."""


def _verbs_with_json() -> set[str]:
    with cli.make_context("replay", [], resilient_parsing=True) as context:
        verbs = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    groups = {name: verb for name, verb in verbs.items() if isinstance(verb, click.Group)}
    every = verbs | {
        f"{name} {inner}": verb for name, group in groups.items() for inner, verb in group.commands.items()
    }
    return {name for name, verb in every.items() if verb is not None and any("--json" in p.opts for p in verb.params)}


def test_every_verb_with_json_has_a_schema() -> None:
    assert _verbs_with_json() == JSON_OF.keys()
    assert set(JSON_OF.values()) <= DOCUMENTS.keys()


def test_what_label_and_known_list_print_is_what_the_schemas_say(
    replay: Callable[..., subprocess.CompletedProcess[str]], results_file: Callable[..., Path]
) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")], [("files/read", [1])]])
    jsonschema.validate(json.loads(replay("label", results, "--json").stdout), schema_of("label"))
    replay("classify", results, "--offline")
    listed = json.loads(replay("known", "list", "--json").stdout)
    assert listed == json.loads(replay("known", "list", "replay-run.db", "--json").stdout)
    assert listed
    jsonschema.validate(listed, schema_of("known-list"))


@pytest.mark.parametrize("verb", ["check", "tools"])
def test_what_servers_prints_is_what_the_schema_says(
    verb: str, replay: Callable[..., subprocess.CompletedProcess[str]], fleet_file: Callable[..., Path]
) -> None:
    done = replay("servers", verb, "--servers", fleet_file(plain="annotated.py"), "--json")
    jsonschema.validate(json.loads(done.stdout), schema_of("servers"))
