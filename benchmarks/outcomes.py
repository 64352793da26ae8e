"""How right the outcomes are on labelled answers, source by source, and what a naive reader reaches on the same ones.

Writes `benchmarks/outcomes.md`. The rules have no training: a source is left out by writing no rule for it. The shared
data beside the project is measured where it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from labelled_answers import Case, all_cases

from replay.records import Judgement, TextAnswer, ToolResult, texts_of

PAGE = Path(__file__).with_suffix(".md")
UNSEEN = Path(__file__).with_name("outcomes_unseen.md")
Judged = tuple[Case, Judgement]
WORDS = re.compile(r"\b(?:error|failed|exception)\b", re.IGNORECASE)
HEAD = (
    "| source | answers | right | failures called success | successes called failures | rest on nothing |\n"
    "| --- | --- | --- | --- | --- | --- |"
)
OWN = "our "


def right(case: Case, judgement: Judgement) -> bool:
    return str(judgement.outcome) in case.accepted


def row(name: str, judged: Sequence[Judged]) -> str:
    """A line of the table."""
    good = sum(right(*pair) for pair in judged)
    failures = [judgement for case, judgement in judged if case.fails]
    successes = [judgement for case, judgement in judged if case.succeeds]
    missed = sum(judgement.outcome == "success" for judgement in failures)
    blamed = sum(judgement.outcome != "success" for judgement in successes)
    fallback = sum(judgement.certainty == "fallback" for _, judgement in judged)
    return (
        f"| {name} | {len(judged)} | {good} ({good / len(judged):.1%}) | {missed} of {len(failures)}"
        f" | {blamed} of {len(successes)} | {fallback} |"
    )


def reliability(judged: Iterable[Judged]) -> list[str]:
    """How often a verdict of each certainty is right."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case, judgement in judged:
        counts[judgement.certainty].update(n=1, right=right(case, judgement))
    return ["| certainty | answers | right |", "| --- | --- | --- |"] + [
        f"| {name} | {count['n']} | {count['right']} ({count['right'] / count['n']:.1%}) |"
        for name in ("certain", "likely", "fallback")
        if (count := counts[name])["n"]
    ]


def by_kind(judged: Iterable[Judged]) -> list[str]:
    """How often each rule is right, by how sure it says it is."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for case, judgement in judged:
        counts[judgement.rule][judgement.certainty].update(n=1, right=int(right(case, judgement)))
    names = ("certain", "likely", "fallback")
    return ["| rule | certain and right | likely and right | fallback and right |", "| --- | --- | --- | --- |"] + [
        f"| `{rule}` | " + " | ".join(f"{found[name]['right']} of {found[name]['n']}" for name in names) + " |"
        for rule, found in sorted(counts.items())
    ]


def without_flags(cases: Iterable[Case]) -> str:
    """A sentence on failures that were flagged, judged as if nothing but their text had been recorded."""
    missed = total = 0
    for case in cases:
        if case.fails and isinstance(case.answer, ToolResult) and case.answer.is_error:
            bare = TextAnswer(text="\n".join(texts_of(case.answer)))
            judgement = case._replace(answer=bare, call=case.call.model_copy(update={"answer": bare})).judged()
            total, missed = total + 1, missed + (judgement.outcome == "success")
    return f"Of {total} failures with a flag, {missed} are called a success where only their text is given."


def by_flag(case: Case) -> bool:
    """A naive reader: a failure is what has `isError`."""
    return case.answer.kind == "error" or (isinstance(case.answer, ToolResult) and case.answer.is_error)


def by_words(case: Case) -> bool:
    """Another: a failure is what holds the words error, failed or exception."""
    return WORDS.search("\n".join(texts_of(case.answer))) is not None


def naive(name: str, cases: Sequence[Case], fails: Callable[[Case], bool]) -> str:
    """A line on a reader that tells failures from successes alone."""
    failures, successes = [case for case in cases if case.fails], [case for case in cases if case.succeeds]
    missed, blamed = sum(not fails(case) for case in failures), sum(fails(case) for case in successes)
    total = len(failures) + len(successes)
    return (
        f"| {name} | {total - missed - blamed} of {total} ({(total - missed - blamed) / total:.1%})"
        f" | {missed} of {len(failures)} | {blamed} of {len(successes)} |"
    )


def page(cases: Sequence[Case]) -> str:
    judged = [(case, case.judged()) for case in cases]
    sources: dict[str, list[Judged]] = defaultdict(list)
    for pair in judged:
        sources[pair[0].source].append(pair)
    published = [pair for pair in judged if not pair[0].source.startswith(OWN)]
    failing = {id(case): judgement.outcome != "success" for case, judgement in judged}
    lines = [
        "# Outcomes on labelled answers",
        "",
        "Written by `benchmarks/outcomes.py`. A call is right if its outcome is among its labels; a failure is a call",
        "none of whose labels is a success. *Rest on nothing* counts the verdicts that only the absence of an error",
        "gave. The live set needs its servers and is not here; the answers of `our live servers` were kept from it.",
        "",
        "## By source",
        "",
        HEAD,
        *(row(name, found) for name, found in sources.items()),
        *([row("**all published recordings**", published)] if published else []),
        row("**all**", judged),
        "",
        "## What a certainty means",
        "",
        *reliability(judged),
        "",
        *(["The published recordings alone:", "", *reliability(published), ""] if published else []),
        "By rule:",
        "",
        *by_kind(judged),
        "",
        "## Without their flags",
        "",
        without_flags(cases),
        "",
        "## What a naive reader reaches",
        "",
        "Whether a call failed, and not why, on the answers whose labels all say the same of that.",
        "",
        "| reader | right | failures missed | successes called failures |",
        "| --- | --- | --- | --- |",
        naive("the flag `isError` alone", cases, by_flag),
        naive("the words error, failed, exception", cases, by_words),
        naive("the rules", cases, lambda case: failing[id(case)]),
        "",
    ]
    return "\n".join(lines) + (UNSEEN.read_text("utf-8") if UNSEEN.exists() else "")


if __name__ == "__main__":
    PAGE.write_text(page(all_cases()), "utf-8")
    print(PAGE.read_text("utf-8"))
