"""Envelopes of words: a code fence, a tag, a heading, a short label; and margins: stamps, ids, times, advice, a stack.

An envelope is known by its place and by its saying "error", "failed" or "denied", not by a list of known ones. All
expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from replay.outcomes.codes import forms_in
from replay.outcomes.literals import MAX_JSON_LENGTH
from replay.records import EnvelopeKind

_ERROR_WORD = (
    r"(?:(?:(?<![^\W\d_])(?:errors?|err|failures?|failed|denied|exceptions?|fehler|erreur|fallo|ошибка)(?![^\W\d_]))"
    r"|(?-i:(?<=[a-z])(?:Error|Exception|Failure|Failed|Denied))(?![a-z])|错误|錯誤|失败|失敗|エラー|오류)"
)
_RESULT_WORD = r"(?:results?|outputs?|responses?|observations?|returned|结果|結果)"
_FENCE = re.compile(r"\s*```[ \t]*\w{0,20}[ \t]*\r?\n")
_FENCE_END = re.compile(r"\r?\n[ \t]*```\s*\Z")
_TAG = re.compile(r"\s*<(?P<name>[A-Za-z][\w.:-]{0,60})(?: [\w-]{1,30}=\"[^\"\n]{0,200}\"){0,8}>\s*")
_TAGS_OF_TEXT = frozenset(["p", "pre", "code", "text", "message", "answer"])
_TRAILING_TAG = re.compile(
    r"\n[ \t]*<(?P<name>(?:[A-Za-z]+[_-])?(?:environment|reminder|context)(?:[_-][A-Za-z]+)?)>\n"
)
"""A block that a harness puts below an answer, about its own state."""
_HEADING = re.compile(r"\s*#{1,6}[ \t]+(?P<text>[^\n]{1,60}?)[ \t:]*(?:\r?\n\s*|\Z)")
_RULED_HEADING = re.compile(r"\s*={3,}[ \t]*(?P<text>[^\n=]{1,60}?)[ \t]*={3,}[ \t]*(?:\r?\n\s*|\Z)")
_BRACKETS = re.compile(
    r"[^\w\[(【<]{0,6}[\[(【](?P<text>[^\W\d][^\[\]()【】{}\",=\n]{0,80})[\])】](?P<after>[ \t]{0,4}[:：-]?\s*)"
)
_RESULT_BEFORE_COLON = re.compile(
    rf"(?:{_RESULT_WORD}|(?:(?:mcp|tool|function|action)[ _-]?(?:(?:call|use|execution)[ _-]?)?{_RESULT_WORD})"
    r"(?: (?:of|from|for) [^\n:]{1,80})?|(?:command|tool|function|action) [\w./-]{1,80} returned)[:：]\s*"
    r"|[\w -]{1,60}[:：]\s*(?=meta=|content=\[|CallToolResult\(|\{[\"'](?:content|isError)[\"']:)",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"\s*(?:# ?)?[a-z]\w{0,40} = (?=[\"'][^\n]*[\"']\s*\Z)")
"""A string that is shown as the value of a variable: `# result = "Error: no such user"`."""
_BEFORE_COLON = re.compile(
    r"[^\w\[(<{\"'`]{0,6}(?P<text>\w[^\n:：{}<>]{0,100}?)(?P<colon>\*{0,2}[:：]\*{0,2}(?:\s+|\Z))"
)
_SAYS_ERROR = re.compile(_ERROR_WORD, re.IGNORECASE)
_LABELS_ERROR = re.compile(
    _ERROR_WORD + r"(?=\W*\Z|:|[ #(]{1,2}\d| (?:in|from|of|at|by|on|to|while|when|during|executing|calling|running|code"
    r"|message|details?|output|result)\b)",
    re.IGNORECASE,
)
"""An error word that is what the label is about: not `error handling`, not `failed orders`."""
_SAYS_RESULT = re.compile(rf"(?<![^\W\d_]){_RESULT_WORD}(?![^\W\d_])", re.IGNORECASE)
_ENDS_AS_ERROR = re.compile(rf"(?:\A(?:{_ERROR_WORD})|{_ERROR_WORD}(?<!s))\W{{0,3}}\Z", re.IGNORECASE)
_ENDS_AS_RESULT = re.compile(rf"(?:^|[^\w]){_RESULT_WORD}\W{{0,3}}\Z", re.IGNORECASE)
_NAME = re.compile(r"['\"`][^'\"`\n]{1,80}['\"`]|\b[^\W\d]\w*(?:[_./-]\w+)+\b")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_HARNESS_WORDS = frozenset(
    """
    tool tools mcp call calls calling called use uses using execution execute executing executed function action
    invocation invoke invoking run running agent harness server client request response result sdk plugin step
    the a an of in on for from with by was has is to and while during when occurred returned unexpectedly
    error errors err failure failures failed exception exceptions fehler erreur fallo
""".split()  # noqa: SIM905 a list would take a line a word
)
_WORDS_OF_A_RESULT = _HARNESS_WORDS | frozenset(
    """
    following here s below this that it its as follows results output outputs response responses content
    successfully success ok completed complete done finished
""".split()  # noqa: SIM905
)
_LINE_OF_A_HOST = re.compile(r"\w[\w ,`'’*_-]{2,120}[.:：]{1,3}\**[ \t]*\r?\n\s*")
_NAMES_A_TOOL = re.compile(
    r"\s*(?:\[(?:tool|function|server)[ \w]{0,12}: ?[^\]\n]{1,80}\]"
    r"|(?:tool|function|server|(?:call|request|session)[ _-]?id)(?: name)?: ?[^\n]{1,80}"
    r"|[a-z][a-z _]{1,30}: ?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,:+zZ-]{0,16})[ \t]*\r?\n",
    re.IGNORECASE,
)
"""A line in which a host says whom it asked, or when."""
_WORKERS = frozenset(
    ("tool", "tools", "mcp", "call", "function", "action", "invocation", "execution", "agent", "plugin")
)
_LOG_LINE = re.compile(r"\n[ \t]*(?:\[[A-Za-z][\w .:-]{0,40}\]|\d{4}-\d\d-\d\d)")
_DATED_LINE = re.compile(r"\n[ \t]*\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\s*[\[(]?\d{2,4}[-/:]\d\d[-/:]\d\d")
_NEXT_HEADING = re.compile(r"(?:\A|\n)#{1,6} ")
_MAX_WORDS, _MIN_WORDS_OF_A_LINE = 6, 3
_MAX_LOOK = 20_000

_ADVICE = re.compile(
    r"\W{0,6}(?:note|tips?|hints?|suggestions?|recommendations?|troubleshooting|next steps?|usage|examples?|please|try"
    r"|see|for (?:more|help|further|details)|to (?:fix|resolve|solve|avoid) this|how to fix|if (?:you|this|the|it)"
    r"|you (?:can|may|might|could|should)|make sure|ensure|consider|did you mean|warnings?|important|reminder)\b",
    re.IGNORECASE,
)
_LAST_LINE = re.compile(
    r"\s*at (?:async )?[\w.$<>\[\] ]{1,100} ?\([^()\n]{1,200}:\d+(?::\d+)?\)"  # a frame of a stack
    r"|\s*\[[a-z][\w ]{1,30}: [^\]\n]{1,80}\]"
    r"|\s*[-=_*~]{3,}\s*"
    r"|\W{0,4}(?i:(?:request|trace|correlation|session|call|job|operation|execution|message)[ _-]?(?:id|uuid)"
    r"|(?:(?:query|response|processing|execution|total|run)[ _-]?)?(?:time(?: taken)?|duration|latency)(?:[ _-]?ms)?"
    r"|elapsed(?: time)?|timestamp|took|(?:finished|completed|done) in)\W{0,3}[ \t]{0,4}[\w.:+-]{1,80}(?: ?\w{1,12})?"
    r"\W{0,3}"
)
"""A line that a host or a program writes below an answer about itself: where it was, when, and how long it took."""
_STAMP = re.compile(
    r"\s*[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[\])]?"
    r"[ \t]{0,8}[-|:]?[ \t]{0,8}(?:\[?(?:INFO|DEBUG|NOTICE)\]?[ \t]{0,8}[:|-]?[ \t]{0,8})?(?=\S)"
    r"|\s*(?:\[(?:INFO|DEBUG|NOTICE)\][ \t]{0,8}:?|(?:INFO|DEBUG|NOTICE)[ \t]{0,8}[:|-])[ \t]{0,8}(?=\S)"
)
_LINE_OF_A_LOG = re.compile(r"\n[ \t]*[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d|(?:INFO|DEBUG|NOTICE|WARN|ERROR)\b)")
_PICTURE = re.compile(r"\s*[^\w\s!-~❌✗✘✖🚫⛔🛑⚠]️?[ \t]+(?=\S)")
"""A picture that says nothing of how it went."""
_BULLET = re.compile(r"\s*(?:[-*>]|\d{1,2}[.)])[ \t]+")
_MAX_BESIDE = 200
_DECODER = json.JSONDecoder()
_COMPLAINTS = frozenset(["clause", "missing-clause", "opens"])
_MAX_MARGINS = 12


class Label(NamedTuple):
    """A label that was found, and what it labels."""

    kind: EnvelopeKind
    text: str
    flag: bool | None
    """True where it says that what follows is an error; a label never says that all is well."""
    content: str
    """What follows; with the label's words before it where they say more than that something failed."""


def label_of(text: str, *, alone: bool) -> Label | None:
    """The label that a text begins with.

    Args:
        text: the content so far.
        alone: whether it is all there is: only then can a fence enclose the whole.
    """
    return (
        (_in_fence(text) or _below(text) or _amid_margins(text) or _below_a_name(text) if alone else None)
        or _in_tag(text)
        or _under_heading(text)
        or _in_brackets(text)
        or _before_colon(text)
    )


def _below(text: str) -> Label | None:
    """What a harness wrote below the answer, in a tag of its own."""
    body = text.rstrip()
    if not body.endswith(">") or body[-_MAX_LOOK:].rfind("</") < 0:
        return None
    opened = _TRAILING_TAG.search(body, max(0, len(body) - _MAX_LOOK))
    if opened is None or not body.endswith(f"</{opened['name']}>") or not body[: opened.start()].strip():
        return None
    return Label("tag", opened["name"], None, body[: opened.start()])


def _amid_margins(text: str) -> Label | None:
    left = json_amid_margins(text)
    return None if left is None else Label("label", "", None, left)


def _below_a_name(text: str) -> Label | None:
    line = _NAMES_A_TOOL.match(text)
    return Label("label", line[0].strip(), None, text[line.end() :]) if line and text[line.end() :].strip() else None


def _in_fence(text: str) -> Label | None:
    opened = _FENCE.match(text)
    closed = _FENCE_END.search(text, max(opened.end(), len(text) - 40)) if opened else None
    if not opened or not closed or "\n```" in text[opened.end() : closed.start()]:
        return None
    return Label("fence", "", None, text[opened.end() : closed.start()])


def _in_tag(text: str) -> Label | None:
    opened = _TAG.match(text)
    if opened is None:
        return None
    name = opened["name"]
    words = re.sub(r"[_.:-]", " ", name)
    flag = True if _LABELS_ERROR.search(words) else None
    if flag is None and not _SAYS_RESULT.search(words) and name.casefold() not in _TAGS_OF_TEXT:
        return None
    closing = f"</{name}>"
    body = text.rstrip()
    closed = body.endswith(closing)
    if not closed and (flag is None or closing in text):
        return None
    content = text[opened.end() : max(opened.end(), len(body) - len(closing) if closed else len(text))]
    return Label("tag", name, flag, _with_words(words, content) if flag else content)


def _under_heading(text: str) -> Label | None:
    found = _HEADING.match(text) or _RULED_HEADING.match(text)
    if found is None or len(found["text"].split()) > _MAX_WORDS:
        return None
    words, content = found["text"], text[found.end() :]
    short = len(words.split()) <= 2 and _says_nothing_more(words)
    if _ENDS_AS_ERROR.search(words) and (short or not _NEXT_HEADING.search(content[:_MAX_LOOK])):
        return Label("heading", words, True, _with_words(words, content))
    return Label("heading", words, None, content) if _ENDS_AS_RESULT.search(words) else None


def _in_brackets(text: str) -> Label | None:
    found = _BRACKETS.match(text)
    if found is None:
        return None
    words, end = found["text"], found.end()
    if not _LABELS_ERROR.search(words):
        return _result_in_brackets(text, words, end)
    level_of_a_log = not _WORKERS & _words(words) and _is_log(text, end)
    if len(words.split()) > _MAX_WORDS or level_of_a_log:
        return None
    return Label("label", found[0].strip(), True, _with_words(words, text[end:]))


def _result_in_brackets(text: str, words: str, end: int) -> Label | None:
    """`[some_tool for 'x'] Result: ...`, or `[Tool result] ...`."""
    result = _RESULT_BEFORE_COLON.match(text, end)
    if result:
        return Label("label", text[: result.end()].strip(), None, text[result.end() :])
    if _ENDS_AS_RESULT.search(words) and _WORKERS & _words(words):
        return Label("label", text[:end].strip(), None, text[end:])
    return None


def _before_colon(text: str) -> Label | None:
    text = text.lstrip() if text[:1].isspace() else text
    line = _LINE_OF_A_HOST.match(text)
    few = line is None or len(line[0].split()) < _MIN_WORDS_OF_A_LINE
    if line and not few and _SAYS_RESULT.search(line[0]) and _words(line[0]) <= _WORDS_OF_A_RESULT:
        return Label("label", line[0].strip(), None, text[line.end() :])
    result = _RESULT_BEFORE_COLON.match(text) or _ASSIGNED.match(text)
    if result:
        return Label("label", result[0].strip(), None, text[result.end() :])
    found = _BEFORE_COLON.match(text)
    if found is None:
        return None
    words = found["text"]
    short = len(words.split()) <= _MAX_WORDS + 2
    if not short or not _SAYS_ERROR.search(words) or not _says_nothing_more(words) or not _WORKERS & _words(words):
        return None
    return Label("label", found[0].strip(), True, text[found.end() :])


def _with_words(words: str, content: str) -> str:
    """The content, with the label's words where they tell a cause."""
    return content if _says_nothing_more(words) else f"{words}: {content}"


def _says_nothing_more(words: str) -> bool:
    """Whether a label says that something failed, and not what: all its words are a harness's."""
    rest = _NAME.sub(" ", words)
    return not any(map(str.isdigit, rest)) and _words(rest) <= _HARNESS_WORDS


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _is_log(text: str, end: int) -> bool:
    """Whether what looks like a label begins a line of a log."""
    line = _LOG_LINE if text.lstrip().startswith("[") else _DATED_LINE  # a log's levels all stand in the same brackets
    return _TIMESTAMP.match(text, end) is not None or line.search(text, end, end + _MAX_LOOK) is not None


def without_margins(text: str) -> str:
    """The text without a stamp or a picture before it, and without the lines and paragraphs of advice that end it."""
    text = _without_stamp(_without_last_lines(text))
    picture = _PICTURE.match(text)
    return text[picture.end() :] if picture else text


def json_amid_margins(text: str) -> str | None:
    """The JSON object or array that is left of a text without its margins; None where there is none of either."""
    if len(text) > MAX_JSON_LENGTH:
        return None
    left = without_margins(text)
    bullet = _BULLET.match(left)
    left = _without_words_below((left[bullet.end() :] if bullet else left).strip())
    return left if left != text.strip() and (left[:1], left[-1:]) in (("{", "}"), ("[", "]")) else None


def _without_words_below(text: str) -> str:
    """JSON without a line below it, in which nothing is said to have failed."""
    if text[:1] not in ("{", "[") or text[-1:] in ("}", "]"):
        return text
    try:
        end = _DECODER.raw_decode(text[:MAX_JSON_LENGTH])[1]
    except (ValueError, RecursionError):
        return text
    below = text[end:].strip()
    few = len(below) <= _MAX_BESIDE and "\n" not in below
    return text[:end] if few and forms_in(below).isdisjoint(_COMPLAINTS) else text


def _without_last_lines(text: str) -> str:
    for _ in range(_MAX_MARGINS):
        kept, _, line = text.rstrip().rpartition("\n")
        paragraphs, _, last = text.rstrip().replace("\r\n", "\n").rpartition("\n\n")
        if kept.strip() and _LAST_LINE.fullmatch(line.rstrip()):
            text = kept
        elif paragraphs.strip() and _ADVICE.match(last):
            text = paragraphs
        else:
            break
    return text


def _without_stamp(text: str) -> str:
    """The text without the moment at its beginning, unless its lines are those of a log."""
    stamp = _STAMP.match(text)
    if stamp is None or _LINE_OF_A_LOG.search(text, stamp.end(), stamp.end() + _MAX_LOOK):
        return text
    return text[stamp.end() :]
