"""What else tells how a call went whose answer said nothing: the tool's other answers, and what the model did next.

Both decide only where a success rests on nothing, and never for certain. They are pure functions of
one trajectory's calls and judgements, made when all of its calls are judged.

- A profile holds the shapes of a tool's other answers, as templates: words, with numbers, ids and names masked out. An
  answer whose template is that of failures is one; so is a bare sentence of a tool whose every success is data.
- The testimony is the model's next words, where they follow this call alone and it is not made again with other
  arguments: they may say that it went well. Where they say that it failed they are right too seldom to decide: models
  call many things a failure; a survey shows them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from replay.records import Call, Judgement, Outcome, Reason, Step, Trajectory, texts_of
from replay.records.verdict import UNFOUNDED

SECOND_LOOK_RULES: Final[dict[str, tuple[str, str]]] = {
    "profile.failure": ("The answer reads like those with which the tool failed elsewhere.", "The blue one"),
    "profile.success": ("The answer reads like those with which the tool went well elsewhere.", "The blue one"),
    "profile.unlike": ("The tool answers with data when all is well; this is a bare sentence.", "The blue one"),
    "testimony.success": ("The model's next words say that the call went well.", "Good, that worked."),
}
"""Rule id -> what it says, and an example."""

_MAX_TEXT: Final = 400
_MIN_OTHERS: Final = 3
_MASKED: Final = re.compile(
    r"https?://\S+|['\"`“”][^'\"`“”\n]{1,80}['\"`“”]|[\w.+-]+@[\w.-]+|(?:[A-Za-z]:)?[\w.~-]*[/\\][\w./\\~-]+"
    r"|\b\w*\d[\w.:-]*\b"
)
_QUOTED_WORD: Final = re.compile(r"\"([^\W\d]{1,40})\"")
"""A name of a field of JSON, or a value that is one word."""
_BARE_CODE: Final = re.compile(r"(?:^|: )(?P<code>[A-Z]{1,8}[-_]?\d{2,6})\.?$")
"""A code that is all that an error says."""
_WORD: Final = re.compile(r"[^\W\d_]+|\*")
_FAILED: Final = re.compile(
    r"\b(?:fail(?:ed|s|ing)?|errors?|errored|did(?: not|n't) work|does(?: not|n't) (?:work|exist|support)"
    r"|not (?:found|working|available|supported|allowed)|unable|could(?: not|n't)|can(?:not|'t)|invalid|incorrect|wrong"
    r"|(?:issue|problem) with|unsuccessful|no luck|timed out|unavailable|try (?:again|another|a different)|retry)\b",
    re.IGNORECASE,
)
_WENT_WELL: Final = re.compile(
    r"\b(?:success(?:ful|fully)?|great|perfect|excellent|good|done|works|worked|as expected|has been|have been"
    r"|now (?:i|we|let)|i (?:have|found|see|can see)|completed)\b",
    re.IGNORECASE,
)
_Judged = TypeVar("_Judged", bound=Judgement)


class JudgedAnswer(NamedTuple):
    """A call, and what was said of its answer."""

    call: Call
    judgement: Judgement


class Testimony(NamedTuple):
    """What the model did after a call."""

    failed: bool
    words: str
    """Those of its words that say so."""


class ToolProfile:
    """The shapes of a tool's answers, of which it is known how they went."""

    def __init__(self) -> None:
        self._templates: dict[str, Counter[tuple[Outcome, Reason | None]]] = {}
        self._shapes: Counter[str] = Counter()

    def add(self, text: str, judgement: Judgement) -> None:
        """Learn an answer whose judgement rests on something."""
        counts = self._templates.setdefault(template_of(text), Counter())
        counts[judgement.outcome, judgement.reason] += 1
        if judgement.outcome is Outcome.SUCCESS:
            self._shapes[shape_of(text)] += 1

    def judge(self, text: str) -> tuple[str, Outcome, Reason | None, str] | None:
        """The rule, outcome, reason and evidence that the other answers give; None where they say nothing.

        Of data all that tells is masked in a template: `{"booked": 0}` reads like `{"booked": 2}`.
        """
        alike = self._templates.get(template_of(text)) if shape_of(text) != "data" else None
        if alike is not None and len(alike) == 1:
            ((outcome, reason), count) = next(iter(alike.items()))
            rule = "profile.success" if outcome is Outcome.SUCCESS else "profile.failure"
            return rule, outcome, reason, f"{count} of the tool's other answers read alike"
        successes = self._shapes.total()
        if shape_of(text) == "sentence" and successes >= _MIN_OTHERS and self._shapes["data"] == successes:
            evidence = f"{successes} of the tool's other answers are data"
            return "profile.unlike", Outcome.INCONCLUSIVE, Reason.UNEXPLAINED, evidence
        return None


def template_of(text: str) -> str:
    """The words of an answer with numbers, ids, paths, addresses and quoted names masked out.

    Of data the names of its fields stay, and values of one word; of a bare code the digits, since another means
    another thing.
    """
    start = text[: 2 * _MAX_TEXT]
    masked = _MASKED.sub(" * ", _QUOTED_WORD.sub(r" \1 ", start) if shape_of(text) == "data" else start)
    words, code = [word.casefold() for word in _WORD.findall(masked)], bare_code(text)
    if code and words[-1:] == ["*"]:
        words[-1] = re.split(r"[-_]", code.casefold())[-1]
    return " ".join(words)[:_MAX_TEXT]


def bare_code(text: str) -> str | None:
    """The code that is all that an error says, as in `Error executing tool pay: E1042`; two of them are two causes."""
    bare = _BARE_CODE.search(text.strip())
    return bare["code"] if bare else None


def shape_of(text: str) -> str:
    """What an answer looks like: data, a sentence, or a longer text."""
    stripped = text.strip()
    if stripped[:1] in ("{", "[", "<", "|") or not stripped:
        return "data"
    return "sentence" if len(stripped) <= _MAX_TEXT // 2 and "\n" not in stripped else "text"


def testimony_of(trajectory: Trajectory, step: Step, following: Step | None) -> Testimony | None:
    """What the model did after the only call of a step; None where it tells nothing of how the call went."""
    if len(step.calls) != 1:
        return None
    text = following.text if following is not None else trajectory.final_reply
    first = _first_words(text or "")
    repeated = following is not None and _repeats(step.calls[0], following.calls)
    failed, well = _FAILED.search(first), _WENT_WELL.search(first)
    if failed is not None and (well is None or failed.start() < well.start()):
        return Testimony(True, first)
    return Testimony(False, first) if well is not None and not repeated and failed is None else None


def second_look(trajectory: Trajectory, judgements: Mapping[str, _Judged]) -> dict[str, _Judged]:
    """What the other answers and the model's next words say of the answers that said nothing.

    Args:
        trajectory: as it was read.
        judgements: of its calls, by position.

    Returns:
        New judgements, by position, of those calls alone of which more is known now.
    """
    opened = {position for position, judgement in judgements.items() if _is_open(judgement)}
    if not opened:
        return {}
    judged = _all_judged(trajectory, judgements)
    asked = {_tool(call) for call, _ in judged if call.position in opened}
    profiles = profiles_of([answer for answer in judged if _tool(answer.call) in asked])
    amended: dict[str, _Judged] = {}
    for number, step in enumerate(trajectory.steps):
        following = trajectory.steps[number + 1] if number + 1 < len(trajectory.steps) else None
        for call in step.calls:
            if call.position in opened:
                judgement = judgements[call.position]
                by_words = _by_testimony(judgement, testimony_of(trajectory, step, following))
                found = by_words or _by_profile(judgement, profiles.get(_tool(call)), _text(call))
                if found is not None:
                    amended[call.position] = found
    return amended


def _is_open(judgement: Judgement) -> bool:
    """Whether a success rests on nothing but the absence of an error."""
    return judgement.outcome is Outcome.SUCCESS and judgement.certainty == UNFOUNDED


def profiles_of(judged: Sequence[JudgedAnswer]) -> dict[str, ToolProfile]:
    """The profile of each tool, from the answers whose judgement rests on something."""
    profiles: dict[str, ToolProfile] = {}
    for call, judgement in judged:
        if judgement.certainty != UNFOUNDED and call.answer is not None:
            profiles.setdefault(_tool(call), ToolProfile()).add(_text(call), judgement)
    return profiles


def _all_judged(trajectory: Trajectory, judgements: Mapping[str, Judgement]) -> list[JudgedAnswer]:
    return [JudgedAnswer(call, judgements[call.position]) for call in trajectory.calls() if call.position in judgements]


def _by_testimony(judgement: _Judged, testimony: Testimony | None) -> _Judged | None:
    if testimony is None or testimony.failed:
        return None
    said = f'the model went on: "{testimony.words}"'
    return _amended(judgement, "testimony.success", Outcome.SUCCESS, None, said)


def _by_profile(judgement: _Judged, profile: ToolProfile | None, text: str) -> _Judged | None:
    found = profile.judge(text) if profile is not None and text.strip() else None
    return _amended(judgement, *found) if found is not None else None


def _amended(judgement: _Judged, rule: str, outcome: Outcome, reason: Reason | None, evidence: str) -> _Judged:
    message = f"{SECOND_LOOK_RULES[rule][0].rstrip('.')}: {evidence}"
    changes: dict[str, Any] = {
        "outcome": outcome,
        "reason": reason,
        "rule": rule,
        "certainty": "likely",
        "message": message,
    }
    return judgement.model_copy(update=changes)


def _repeats(call: Call, following: Sequence[Call]) -> bool:
    """Whether the same tool is called next with arguments of which some are the same and some are not."""
    before = call.arguments or {}
    for other in following:
        after = other.arguments or {}
        if other.name == call.name and before != after and len(before) > 1:
            return any(after.get(name) == value for name, value in before.items())
    return False


def _first_words(text: str) -> str:
    """The first sentences of what the model says, on one line."""
    flat = " ".join(text[: 2 * _MAX_TEXT].split())
    ends = [match.end() for match in _sentence_ends(flat)]
    return flat[: ends[1] if len(ends) > 1 else _MAX_TEXT // 2].strip()[: _MAX_TEXT // 2]


def _sentence_ends(text: str) -> Iterator[re.Match[str]]:
    return re.finditer(r"[.!?:](?:\s|$)", text)


def _tool(call: Call) -> str:
    return call.name or ""


def _text(call: Call) -> str:
    return "\n".join(texts_of(call.answer))[: 4 * _MAX_TEXT] if call.answer is not None else ""
