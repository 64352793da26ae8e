from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from replay.cli import cli
from tests.scripts import ROOT, script

generate = script("generate")
QUESTIONS = (ROOT / "docs" / "questions.md").read_text("utf-8")


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_says_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == generate.PAGES[name](), "stale: run make docs"


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("traces/*.md")]), ids=lambda path: path.name
)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_can_be_reached_from_the_readme_or_its_page_of_questions() -> None:
    linked = QUESTIONS + (ROOT / "README.md").read_text("utf-8")
    pages = [path.name for path in sorted(ROOT.glob("docs/*.md"))]
    assert [name for name in pages if not re.search(rf"\]\((docs/)?{name}", linked)] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda path: path.name)
def test_every_command_of_a_page_is_one_that_there_is(page: Path) -> None:
    for verb, *words in commands_in(page.read_text("utf-8")):
        parse(verb, words)


def test_the_page_of_questions_has_a_command_of_every_verb() -> None:
    assert set(cli.list_commands(click.Context(cli))) - {verb for verb, *_ in commands_in(QUESTIONS)} == set()


def commands_in(text: str) -> list[list[str]]:
    """The words of every `replay` command in Markdown, without pipes and redirections."""
    whole = text.replace("\\\n", " ")
    lines = [line for block in re.findall(r"```\w*\n(.*?)```", whole, re.DOTALL) for line in block.splitlines()]
    lines += re.findall(r"(?<!`)`([^`\n]+)`", re.sub(r"```\w*\n.*?```", "", whole, flags=re.DOTALL))
    parts = [
        part.strip()
        for line in lines
        for part in re.split(r"\s(?:&&|\||>)\s|\s#", re.sub(r"^(\$|run:) ", "", line.strip()))
    ]
    return [shlex.split(part)[1:] or ["sessions"] for part in parts if part.partition(" ")[0] == "replay"]


def parse(verb: str, words: list[str]) -> None:
    """Take a command apart as the program does; no file is looked at; capitals stand for a value."""
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None, verb
    if isinstance(command, click.Group) and words:
        command, words = command.commands[words[0]], words[1:]
    mentioned = ["VALUE"] if words and words[-1].startswith("--") else []  # an option alone, in a sentence
    values, *_ = command.make_parser(click.Context(command)).parse_args([*words, *mentioned])
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.isupper():
            parameter.type.convert(value, parameter, None)
