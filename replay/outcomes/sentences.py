"""Whether a text without any error flag reports a failure: by how it begins, or as a short answer that denies.

Where a tool hands out what somebody stored, searches or writes prose, words of failure are content. A report names
the call, is short, and holds no data.
"""

from __future__ import annotations

import re

from replay.outcomes.call_facts import (
    MAX_NAMING_LENGTH,
    ArgumentIndex,
    answers_in_prose,
    asks_about_errors,
    asks_for_a_state,
    asks_yes_or_no,
    changes_something,
    filters_errors,
    holds_quoted,
    is_told_to_write,
    looks_up,
    names_a_web_address,
    queries_a_database,
    returns_content,
    runs_commands,
    says_the_verb,
    searches,
)
from replay.outcomes.codes import causes_in, causes_said, forms_in
from replay.outcomes.denials import denies_a_value, did_none_of_a_batch, holds_none, no_such_thing
from replay.outcomes.error_report import (
    MAX_REPORT_LENGTH,
    MAX_SENTENCE_LENGTH,
    TRACEBACK_LAST_LINE,
    Basis,
    misses_program,
    server_is_unknown,
)
from replay.outcomes.json_fields import is_nothing
from replay.outcomes.residue import error_in_tail, read_json
from replay.outcomes.stored_text import PATH, READ_FAILED, is_stored_text
from replay.records import Tool

COUNTS = re.compile(
    r"\b(?P<done>\d{1,9}) (?:\w+ ){0,3}?(?:succeeded|successful|imported|created|updated|added|inserted|sent|ok"
    r"|done|processed|completed|uploaded|deleted)\b[^\n]{0,60}?\b(?P<failed>\d{1,9}) (?:\w+ ){0,2}?(?:failed|errors?"
    r"|rejected|failures?|could not)\b"
    r"|\b(?:succeeded|successful|imported|created|updated|added|inserted|sent|processed|completed) "
    r"(?P<done_after>\d{1,9})\b[^\n]{0,60}?\b(?:(?P<failed_before>\d{1,9}) (?:\w+ ){0,2}?(?:failed|errors?|rejected"
    r"|failures?)"
    r"|failed:? (?P<failed_after>\d{1,9}))\b",
    re.IGNORECASE,
)
"""`imported 2 rows, 1 failed`: how much of a batch was done."""

_MAX_CLAUSE_LENGTH = 200
_MAX_DENIAL_LENGTH = 240
_MAX_OPENING = 200
_MIN_WORDS = 3
_MAX_REFUSAL_LENGTH = 120
_MAX_HEADINGS, _MAX_FIELDS = 3, 9
_MAX_FOLDED = 3
"""Letters that one letter becomes where case is folded."""

CAUSES = frozenset(
    """
    rate-limited policy unauthorized network timeout environment outage exists malformed crash json-parse needs-client
    session-lost not-permitted cancelled own-output input-not-json bad-address hidden
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""What makes a failure of one short line, where the tool neither returns stored text nor searches it."""

_STATUS_OR_ERROR_LINE = re.compile(
    r"[\W_]{0,4}(?:HTTP(?:/\d(?:\.\d)?)?|error|failed|request|server|api|upstream|backend|gateway)"
    r"(?: (?:http|status|code|error|failed|with|response|returned)){0,4}[ \t:=#(]{1,3}(?P<status>[45]\d\d)[\W_]{0,4}\Z"
    r"|\S{1,100} (?:[-=]>|→) [45]\d\d\W?\Z"
    r"|[\W_]{0,4}(?:error|failed|failure|exception)[:!. \t]{0,4}\n\s{0,4}(?P<said>\w[^\n]{0,300})\s{0,4}\Z",
    re.IGNORECASE,
)
"""A whole answer that is an error's status and nothing else, or a line that says `ERROR` over one that says which."""

_HEADING = re.compile(
    r"(?:={3,} [a-z ]*(?:error|timeout|failed)[a-z ]* ={3,}\s*\n)"
    r"|(?:#{1,4} (?:[\w-]{1,30} ){0,3}(?:result|error|output|response|錯誤|错误)s?[ \t]*\n{1,9})+"
    r"|(?:(?:wall time|elapsed|duration):? [\d.]+ ?\w+|(?:execution )?result of \[?\w+\]?:|contents of \S+:)\s*\n"
    r"|(?:```\w*\n)|<(?:tool_(?:use_)?)?error>\s*"
    r"|[^\n]{1,120}(?:\.{3}|…)[ \t]*\n"
    r"|\[(?:stderr|err)\]:? |(?:\[[a-z][\w ]{1,40}: [^\]\n]{1,300}\]\s*\n)+"
    r"|(?:note|warning): (?=(?:could not|cannot|unable to|failed to) \w+ (?:\w+ ){0,2}['\"`])",
    re.IGNORECASE,
)
"""What may stand before a report without being part of it."""

_DATA_START = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]|\[\s*[\[({'\"]|\{\s*['\"]|\(\s*[('\"\[]|#{1,3} (?!(?:error|result|failed)\s*\n)"
    r"|<[?!a-z]|\||1[.)] [^\n]{1,300}?\s2[.)] \w)"
    r"|(?P<mark>[-*•] |\[[A-Za-z]{2,12}\] )[^\n]*(?:\n{1,2}(?P=mark)[^\n]*)+\s*$",
    re.IGNORECASE,
)
_SHELL_ERROR = re.compile(
    r"(?:[\w./()-]{1,60}: ?){1,3}(?:line \d+: )?[^\n]{0,300}(?:No such file or directory|Permission denied"
    r"|command not found|not found|Connection (?:refused|timed out)|Is a directory|Not a directory|invalid option"
    r"|File exists)"
    r"|'[^'\n]{1,100}' is not recognized as",
    re.IGNORECASE,
)
_EXITED = re.compile(
    r"\b(?:process|command|program|cli)\b[^\n]{0,40} (?:exited|failed|terminated) with (?:exit )?(?:code|status) [1-9]"
    r"|\bdid not (?:complete|exit|finish) successfully\b",
    re.IGNORECASE,
)
_SAYS_NO = re.compile(r"\W*(?:in|not )valid(?:[:.,]|\W*$)", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"\n|[.!?](?:\s|$)|。")
_FIRST_WORD = re.compile(r"\W*(\w+)")
_SHORT_REFUSAL = re.compile(
    r"\W{0,4}(?:search |input |the )?(?:[\w'\"-]{1,30} ){1,4}(?:cannot be (?:empty|blank|null|negative)"
    r"|(?:must|should) (?:only |not )?(?:be|have|contain)|is required|are required|(?:is|are) (?:invalid|missing)"
    r"|contains? (?:NaN|null|invalid|illegal|unsupported))\b"
    r"|\W{0,4}nothing (?:was |has been )?(?:removed|deleted|changed|updated|written|saved|created|added|sent|moved"
    r"|applied|done)\b"
    r"|\W{0,4}please (?:input|enter|provide|specify|use|give|supply|pass|choose|select) (?:an? |the )?"
    r"(?:valid|correct|proper|existing)\b",
    re.IGNORECASE,
)
"""A refusal in so few words that it is no search result."""
_DONE = re.compile(
    r"\W*(?:[\w'\"-]{1,40} ){0,4}(?P<participle>added|created|saved|updated|deleted|removed|sent|booked|set|merged"
    r"|executed|completed|queued|started|replaced|renamed|moved|copied|uploaded|inserted|scheduled|finished|installed"
    r"|downloaded|approved|accepted|confirmed|granted|restored|resolved|cancel+ed|navigated|opened|applied)\b"
    r"(?! (?:before|after|already|yet|to be)\b)",
    re.IGNORECASE,
)
"""A first sentence that says what was done; a denial in it makes it no such."""
_PREVIEW = re.compile(r"\bpreview\b[^\n]{0,30}:\s*\n\s*\S", re.IGNORECASE)
"""Of what is kept in a file because it is long, the beginning is shown."""
_FIRST_PERSON = re.compile(r"\W*(?:i|we)\b", re.IGNORECASE)
_CELLS = re.compile(r"\A[^\n]*(?:\||[^\n]\t)")
"""The first line of a table."""
_FIELD = re.compile(r"[-\w .*]{1,40}:")
_FIELDS = re.compile(r"\s*+[-\w .*]{1,40}:[^\n]*+(?:\n(?: [^\n]*+)?){0,12}\n\s*+[-\w .*]{1,40}:")
"""Two fields, of which the first may go on over some lines."""
_NOT_DONE = re.compile(
    r"\b(?:not|n't|no|nothing|never|cannot|can't|fail\w*|error\w*|must|only|unable)\b", re.IGNORECASE
)
_REQUEST = re.compile(r"\b(?:please|first|before|must|needs?|provide|specify|required?|instead|try)\b", re.IGNORECASE)

_OPENINGS = frozenset({"opens", "opens-sdk", "opens-short"})
_COMPLAINTS = frozenset({*_OPENINGS, "opens-loose", "clause", "missing-clause", "denies"})
_GOOD_NEWS = frozenset({"done", "done-somewhere"})
_OF_THE_HOST = frozenset({"not-permitted", "cancelled", "hidden", "session-lost", "needs-client", "own-output"})
_MAX_HEAD = 400
_MEASURED_ERROR = re.compile(r"\berrors?(?: of| is| was|:| =)? ?[-+±~<≤]? ?\d+\.\d+(?![.\d])", re.IGNORECASE)
"""An error that is a measure: `standard error 0.03`."""
_QUOTED_AT_START = re.compile(r"\s*(['\"`])[^'\"`\n]{1,80}\1(?=[ ,(])")
_QUOTED_TITLE = re.compile(r"'(?<=[^,] ')(?![45]\d\d )[A-Z0-9](?:[^'\"\n]|(?<=\w)'(?=\w)){1,60}'(?!\w)")
"""A name or a title in quotes, and no HTTP status: its words are none of the sentence's."""
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])")
FRAME_WORDS = frozenset(
    """
    a an and any are at be been but by can check contact could did do does during error errors exception execute
    executed executing execution fail failed failing fails failure for from get had has have had here hm i in internal
    invoke invoking is issue it its later log logs no none null of oops on one operation or our perform performing
    please problem process processing query reason request response result retry run running server service
    some something sorry support system that the there this to tool tools try again unable unexpected unhandled
    unknown unspecified was we went were what when while with wrong you your call calling called occurred
    occur occurs happened happen mcp not complete completed successfully success details detail message status
    code data more information see
    """.split()  # noqa: SIM905
)
"""What a report of any failure may say without telling why."""
_COMPLAINT_WORDS = FRAME_WORDS | frozenset(
    """
    accessible allowed available cannot denied disabled exist exists expired forbidden found invalid missing never
    permission permitted refused rejected supported unavailable unknown unsupported valid
    """.split()  # noqa: SIM905
)


def counts_of(match: re.Match[str]) -> tuple[int, int]:
    """How many of a batch were done, and how many failed, as `COUNTS` found it."""
    done = match["done"] or match["done_after"] or "0"
    failed = match["failed"] or match["failed_before"] or match["failed_after"] or "0"
    return int(done), int(failed)


def basis_of_text(text: str, arguments: ArgumentIndex, tool: Tool | None, *, message: bool = False) -> Basis | None:
    """Whether an unflagged text is a report of a failure: by how it begins, or as a sentence.

    Args:
        text: the answer.
        arguments: of the call.
        tool: its description, where it is known.
        message: the text stood in a field for messages to the reader: then it is neither content nor prose.
    """
    headless = _without_heading(text)
    bare = _without_quoted_names(headless.split("\n", 1)[0])
    stripped = _without_quoted_names(arguments.without_values(_MEASURED_ERROR.sub("deviation", headless))).strip()
    said = forms_in(stripped if len(stripped) <= MAX_SENTENCE_LENGTH else stripped[:_MAX_OPENING])
    beginning = text[:300]
    unknown = arguments.tool_named_in(beginning) and "tool-unknown" in causes_said(beginning.strip())
    unknown = unknown or server_is_unknown(beginning, arguments)
    unknown = unknown and len(stripped) <= MAX_SENTENCE_LENGTH
    fields = not returns_content(arguments, tool) and _fields_report(text, arguments)
    if unknown or fields or _complains_of_the_call(bare, arguments) or did_none_of_a_batch(text, arguments):
        return "prefix"
    if misses_program("\n".join(headless.rstrip().rsplit("\n", 3)[-3:]), arguments) or _all_fields_deny(text):
        return "sentence"
    if not stripped or len(stripped) > MAX_REPORT_LENGTH or _is_content(stripped, text, said, arguments, tool):
        return None
    line = _STATUS_OR_ERROR_LINE.match(stripped)
    complains = line or _complains_twice(stripped)
    stores = not message and returns_content(arguments, tool) and not (complains and names_a_web_address(arguments))
    asked = asks_about_errors(arguments)
    if (
        (asked and searches(arguments))
        or filters_errors(arguments)
        or (stores and is_stored_text(text, said, arguments))
    ):
        return None
    bad = not stores and (_ends_badly(stripped, line, arguments) or _names_a_code(stripped, arguments))
    if bad or said & {"opens", "opens-sdk", "too-large"}:
        return "prefix"
    return (
        "sentence"
        if not asked and _is_report(stripped, text, said, arguments, stores=stores, message=message)
        else None
    )


def _without_quoted_names(text: str) -> str:
    text = _QUOTED_TITLE.sub("", text)
    quoted = _QUOTED_AT_START.match(text)
    return text[quoted.end() :] if quoted else text


def _complains_of_the_call(text: str, arguments: ArgumentIndex) -> bool:
    """Whether the first line complains of the call itself: it names the tool, or is a host's word on the call.

    Whatever the tool hands out, content does not speak of the call that fetches it.
    """
    line = text.strip().split("\n", 1)[0][:_MAX_HEAD]
    own = arguments.without_values(line).strip()
    said, host = forms_in(own), causes_said(own) & _OF_THE_HOST
    done = not said.isdisjoint(_GOOD_NEWS) or says_the_verb(own, arguments)
    if host and (not changes_something(arguments) or not (done or "cancelled" in host)):
        return True
    if said.isdisjoint(_COMPLAINTS) or done:
        return _leaves_only_a_complaint(own, arguments)
    named = arguments.tool_spoken_of_in(own) or any(holds_quoted(own, name) for name in arguments.argument_names)
    failed = READ_FAILED.match(own) is not None and any(map(arguments.is_word_of_its_names, own_words(own, arguments)))
    return named or failed or _leaves_only_a_complaint(own, arguments)


def _leaves_only_a_complaint(line: str, arguments: ArgumentIndex) -> bool:
    """Whether a line's first sentence denies what the call's own names stand for, and says nothing else."""
    sentence = _FIRST_SENTENCE.split(line, maxsplit=1)[0].replace("_", " ")
    if (
        any(map(str.isdigit, sentence))
        or says_the_verb(sentence, arguments)
        or forms_in(sentence).isdisjoint({"clause", "missing-clause", "opens-loose"})
    ):
        return False
    if runs_commands(arguments) or asks_yes_or_no(arguments) or asks_about_errors(arguments):
        return False
    left = own_words(sentence, arguments) - _COMPLAINT_WORDS
    return bool(left) and all(len(word) < 2 or arguments.is_word_of_its_names(word) for word in left)


def own_words(text: str, arguments: ArgumentIndex) -> set[str]:
    """The words of a text, in lower case, without the call's names and values."""
    for name in (arguments.written_name, arguments.tool_name):
        text = text.replace(name, " ") if len(name) > 1 else text
    return {word.casefold() for word in _WORD.findall(arguments.without_values(text, 1))}


def _complains_twice(stripped: str) -> bool:
    """Whether a few lines begin with a complaint, and one of those below opens with another."""
    first, *below = stripped[: MAX_SENTENCE_LENGTH + 1].splitlines() or [""]
    short = len(stripped) <= MAX_SENTENCE_LENGTH and len(first) <= _MAX_CLAUSE_LENGTH
    return short and "clause" in forms_in(first) and any(forms_in(line) & {*_OPENINGS, "opens-loose"} for line in below)


def _names_a_code(stripped: str, arguments: ArgumentIndex) -> bool:
    """Whether the first line of a text has the code of a known system's failure, or says that the network fails."""
    if answers_in_prose(arguments) or runs_commands(arguments) or queries_a_database(arguments):
        return False
    head = stripped.split("\n", 1)[0][:_MAX_CLAUSE_LENGTH]
    return bool(causes_in(head)) or (len(stripped) > len(head) and "network" in causes_said(head))


def _all_fields_deny(text: str) -> bool:
    """Whether a text is a record of which nothing is left but what denies: its other fields are empty."""
    lines = text.strip().splitlines()
    if len(text) > MAX_SENTENCE_LENGTH or not all(map(_FIELD.match, lines)):
        return False
    values = [value for value in (line.partition(":")[2].strip() for line in lines) if value]
    said = [forms_in(value) for value in values if not is_nothing(value) and value not in ("{}", "[]")]
    return 0 < len(said) < len(values) and all("clause" in forms for forms in said)


def _fields_report(text: str, arguments: ArgumentIndex) -> bool:
    """Whether a few lines of fields are an error as an object of them would be: `status: error`, `message: ...`."""
    lines = text.strip().splitlines()
    if not 1 < len(lines) < _MAX_FIELDS or not all(map(_FIELD.match, lines)) or runs_commands(arguments):
        return False
    fields = ([part.strip() for part in line.split(":", 1)] for line in lines)
    return read_json({name.casefold(): value for name, value in fields}, arguments).error is not None


def _ends_badly(stripped: str, line: re.Match[str] | None, arguments: ArgumentIndex) -> bool:
    """Whether an answer is an error's status alone, and no column of that name, or a program's bad end."""
    return (line is not None and not queries_a_database(arguments)) or _EXITED.search(stripped[:300]) is not None


def _is_content(stripped: str, text: str, said: frozenset[str], arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether a text is data, good news, or what the call itself brought or asked for."""
    if said.isdisjoint(_OPENINGS) and ("done" in said or _FIELDS.match(stripped) or _CELLS.search(stripped)):
        return True
    value = stripped.partition(":")[2].strip() if "\n" not in stripped else ""
    if (
        (value and is_nothing(value))
        or text.lstrip().startswith("```diff")
        or _PREVIEW.search(text[:MAX_REPORT_LENGTH])
        or "\u2705" in text
        or "\u2713" in text
        or "\u2714" in text
    ):
        return True
    done = _DONE.match(stripped)
    if done is not None and not _NOT_DONE.search(done[0]) and "opens" not in said:
        return done["participle"].casefold()[:6] != "cancel" or "cancel" in arguments.tool_name.casefold()
    xml_error = text.lstrip()[:1] == "<" and not said.isdisjoint(_OPENINGS)
    is_data = _DATA_START.match(_without_heading(text)) and not text.startswith(arguments.texts)
    if (is_data and not xml_error) or says_the_verb(text, arguments):
        return True
    counts = COUNTS.match(stripped.lstrip("#*- ")[:MAX_SENTENCE_LENGTH])
    if counts is not None and counts_of(counts)[0]:
        return True
    long_enough = [value.casefold() for value in arguments.texts if len(value) * _MAX_FOLDED >= len(stripped)]
    folded = stripped.casefold() if long_enough else ""
    brought = len(stripped) > 4 and any(folded in value for value in long_enough)
    section = any(text.startswith(f"{value}:\n") for value in arguments.texts)
    return brought or section or _was_asked_for(text, arguments, tool)


def _is_report(
    stripped: str, text: str, said: frozenset[str], arguments: ArgumentIndex, *, stores: bool, message: bool
) -> bool:
    """Whether a short text that does not call itself an error is a report of a failure all the same."""
    lines = stripped.count("\n") + 1
    paragraphs = stores and "\n\n" in text.strip() and not READ_FAILED.match(stripped)
    doubts = _doubts_itself(stripped, said)
    a_state = " " not in stripped and stripped.isascii() and "opens-short" not in said
    if doubts or a_state or len(stripped) > MAX_SENTENCE_LENGTH or lines > 8 or paragraphs:
        return doubts
    if "opens-short" in said:
        of_a_writer = answers_in_prose(arguments) and not message and _FIRST_PERSON.match(stripped) is not None
        says_no = asks_yes_or_no(arguments) and _SAYS_NO.match(stripped) is not None
        return not (of_a_writer or says_no) and not (searches(arguments) and "nothing" in said)
    first = _FIRST_SENTENCE.split(stripped, maxsplit=1)[0]
    if len(stripped) <= _MAX_CLAUSE_LENGTH and lines == 1:
        first = stripped
    clauses = forms_in(first) if len(first) <= _MAX_CLAUSE_LENGTH else frozenset()
    refused = _refuses_shortly(stripped, stores=stores)
    if refused or runs_commands(arguments):
        named = lines == 1 and "clause" in clauses and arguments.value_named_in(text)
        return refused or named or (not stores and _program_complains(stripped, arguments))
    finds = searches(arguments) or holds_none(stripped, arguments)
    none_of_it = denies_a_value(text, arguments) and not finds
    if none_of_it or (no_such_thing(stripped) and changes_something(arguments)):
        return True
    if "nothing" in said and not _REQUEST.search(stripped) and causes_said(stripped).isdisjoint(CAUSES):
        silent = answers_in_prose(arguments) or finds
        return no_such_thing(stripped) and not silent and _names_one(text, arguments)
    prose = stores or (not message and answers_in_prose(arguments))
    return _denies(stripped, text, said, clauses, arguments, stores=stores, prose=prose)


def _denies(
    stripped: str,
    text: str,
    said: frozenset[str],
    clauses: frozenset[str],
    arguments: ArgumentIndex,
    *,
    stores: bool,
    prose: bool,
) -> bool:
    """Whether a sentence denies what was asked: by a clause, a cause, or the words of refusal in a short answer."""
    short_line = "\n" not in stripped and len(stripped) <= _MAX_CLAUSE_LENGTH
    causes = causes_said(stripped)
    if asks_for_a_state(arguments) and arguments.value_named_in(text) and "not-found" not in causes:
        return False
    by_cause = short_line and not prose and not causes.isdisjoint(CAUSES)
    if by_cause or (not prose and "opens-loose" in said) or asks_yes_or_no(arguments):
        return by_cause or "opens-loose" in said
    quoted = arguments.value_quoted_in(text[:_MAX_CLAUSE_LENGTH])
    discussed = prose and any(len(value) > MAX_NAMING_LENGTH for value in arguments.texts)
    named = quoted if searches(arguments) else not prose or (not discussed and arguments.value_named_in(text))
    telling = {"missing-clause"} if stores else {"clause", "missing-clause"}
    if named and not is_told_to_write(arguments) and clauses & telling:
        return True
    if prose or "denies" not in clauses or not _is_sentence(stripped) or _was_done(stripped, clauses):
        return False
    asks = _REQUEST.search(stripped) is not None or not stripped.isascii()
    return asks or not looks_up(arguments) or _names_one(text, arguments)


def _is_sentence(stripped: str) -> bool:
    """Whether a text is short, has some words, and is no list of fields."""
    words = len(stripped.split()) >= _MIN_WORDS or not stripped.isascii()
    return words and len(stripped) <= _MAX_DENIAL_LENGTH and _FIELDS.match(stripped) is None


def _was_done(stripped: str, clauses: frozenset[str]) -> bool:
    return "done-somewhere" in clauses and not _NOT_DONE.search(_FIRST_SENTENCE.split(stripped, maxsplit=1)[0])


def _refuses_shortly(stripped: str, *, stores: bool) -> bool:
    short = len(stripped) <= _MAX_REFUSAL_LENGTH and "\n" not in stripped
    return short and not stores and _SHORT_REFUSAL.match(stripped) is not None


def _program_complains(stripped: str, arguments: ArgumentIndex) -> bool:
    """Whether the output of a program of which no exit code is known is nothing but its complaint."""
    shell = _SHELL_ERROR.match(stripped)
    if shell is not None and "not-found" in causes_said(shell[0]) and "\n" not in stripped:
        return arguments.value_named_in(stripped) or not PATH.search(stripped)
    if shell is not None:
        return True
    last = stripped.rsplit("\n", 1)[-1]
    if ":" in last and TRACEBACK_LAST_LINE.match(last):
        return True
    one_line = "\n" not in stripped and len(stripped) <= _MAX_CLAUSE_LENGTH
    return error_in_tail(stripped) is not None or (one_line and not causes_said(stripped).isdisjoint(CAUSES))


def _names_one(text: str, arguments: ArgumentIndex) -> bool:
    return arguments.value_named_in(text) or arguments.arguments_named_in(text)


def _doubts_itself(stripped: str, said: frozenset[str]) -> bool:
    """Whether a short text found nothing, and goes on to say that the backend may be the reason."""
    if len(stripped) > MAX_SENTENCE_LENGTH or "nothing" not in said:
        return False
    return bool(causes_said(stripped) & {"rate-limited", "outage"})


def _was_asked_for(text: str, arguments: ArgumentIndex, tool: Tool | None) -> bool:
    """Whether the text's error word is a choice that the call made among those that the tool offers."""
    first = _FIRST_WORD.match(text) if arguments.by_name else None
    if first is None:
        return False
    chosen = [name for name, value in arguments.by_name.items() if value.casefold() == first[1].casefold()]
    if tool is None or not isinstance(tool.input_schema, dict):
        return any(re.search(r"(?:type|kind|level|severity|status|category)$", name, re.IGNORECASE) for name in chosen)
    properties = tool.input_schema.get("properties")
    fields = [properties.get(name) for name in chosen] if isinstance(properties, dict) else []
    return any(
        isinstance(field, dict) and arguments.by_name[name] in field.get("enum", ())
        for name, field in zip(chosen, fields, strict=False)
    )


def _without_heading(text: str) -> str:
    """The text without what may stand before a report."""
    text = text.lstrip()
    for _ in range(_MAX_HEADINGS):
        heading = _HEADING.match(text)
        if heading is None:
            break
        text = text[heading.end() :].lstrip()
    return text
