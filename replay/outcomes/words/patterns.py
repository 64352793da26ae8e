"""The shapes of a report of failure: how it begins, what wraps it, and what only looks like one.

All expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import re


def any_of(*alternatives: str) -> re.Pattern[str]:
    """One expression of several, upper and lower case alike."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


REPORT_HEADING = re.compile(
    r"(?:={3,} [a-z ]*(?:error|timeout|failed)[a-z ]* ={3,}\s*\n)|"
    r"(?:#{1,4} (?:[\w-]{1,30} ){0,3}(?:result|error|output|response|錯誤|错误)s?[ \t]*\n{1,9})+"
    r"|(?:```\w*\n)|<(?:tool_(?:use_)?)?error>\s*|"
    r"(?:note|warning): (?=(?:could not|cannot|unable to|failed to) \w+ (?:\w+ ){0,2}['\"`])",
    re.IGNORECASE,
)
"""What may stand before a report without being part of it."""

ERROR_PREFIX = re.compile(
    r"[\W_]{0,6}(?:"
    r"error(?: ?\[[^\]\n]{0,60}\]| ?\([^)\n]{0,80}\)| \d{3,6}| code:? \S{1,20})?(?: {0,2}:| {1,2}[-–—] )"
    r"|error (?:executing|running|calling|invoking|occurred|in|while|when|during|from|\w+ing)\b[^\n]{0,300}?"
    r"(?::|\.(?:\s|$)|$)"
    r"|(?:an|the) (?:\w+ )?(?:error|exception) (?:occurred|was raised|happened)"
    r"|(?:i|we|it|the (?:tool|agent|server|assistant))(?:'ve| have| has)? (?:encountered|hit|got|met|raised|ran into"
    r"|run into|experienced) an? (?:\w+ ){0,2}(?:error|exception|failure)\b"
    r"|(?:[a-z_]\w{0,60}\.){0,6}[A-Z]?\w{0,60}(?:Error|Exception)\b ?(?:[:(]|$)"
    r"|(?:unexpected |internal |unknown )?(?:\w{1,20} )?(?:database|api|http|https|validation"
    r"|connection|network|sql|query|request|server"
    r"|client|runtime|syntax|parse|parser|tool|execution|command|file|input|i/?o|type|value|key"
    r"|timeout|auth\w*|permission"
    r"|unexpected|internal|unknown|search|fatal|security|configuration|config|rate limit|parameter|argument)"
    r" (?:error|exception)(?: \d{3})?(?: ?\([^)\n]{0,80}\))?:"
    r"|(?<!\w)\((?:[45]\d\d, b?['\"]|-?\d{1,5}, b?['\"](?:\w{1,40} ){2,40}[^\n]{0,300}['\"]\)\W{0,4}\Z)"
    r"|(?<!\w)[❌✗✘✖](?![^✅✓✔]{0,2000}[✅✓✔])|"
    r"(?-i:\[(?=[A-Z]+_)[A-Z_]*(?:ERROR|FAIL|INVALID|DENIED|NOT_FOUND|LIMIT)[A-Z_]*\]) (?=\w)"
    r"|mcp error -?\d+|fatal(?: error)?:|panic:|(?:caught |unhandled |uncaught )?exception[.:]|failure:|failed:"
    r"|traceback \(most recent call last\)|security violation)",
    re.IGNORECASE,
)
"""A report that says in its first words that it is one."""

STATUS_OR_ERROR_LINE = re.compile(
    r"[\W_]{0,4}(?:HTTP(?:/\d(?:\.\d)?)?|error|failed|request|server|api)(?: (?:http|status|code|error|failed|with"
    r"|response|returned)){0,4}[ \t:=#(]{1,3}(?P<status>[45]\d\d)[\W_]{0,4}\Z"
    r"|[\W_]{0,4}(?:error|failed|failure|exception)[:!. \t]{0,4}\n\s{0,4}(?P<said>\w[^\n]{0,300})\s{0,4}\Z",
    re.IGNORECASE,
)
"""A whole answer that is an error's status and nothing else, or a line that says `ERROR` over one that says which."""

LOOSE_ERROR_PREFIX = re.compile(
    r"[\W_]{0,6}(?:[\w'./-]{1,40} ){1,4}(?:error|exception)(?: ?\([^)\n]{0,80}\))?:", re.IGNORECASE
)
"""A looser prefix (`Frobnication error: `), for tools that do not return prose."""

TRACEBACK_LAST_LINE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)\b")
"""The line with which a Python traceback ends."""

DATA_START = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]|\[\s*[\[({'\"]|\{\s*['\"]|\(\s*[('\"\[]|#{1,3} (?!(?:error|result|failed)\s*\n)"
    r"|<[?!a-z]|\|)"
    r"|(?P<mark>[-*•] |\[[A-Za-z]{2,12}\] )[^\n]*(?:\n{1,2}(?P=mark)[^\n]*)+\s*$",
    re.IGNORECASE,
)
"""How data and documents begin: literals of lists and records, headings, markup, tables;
a run of like lines."""

SDK_ERROR_PREFIX = any_of(
    r"^\W*(?:(?:failed|unable) to|could ?n[o']t) (?:retrieve|fetch|load|download|extract)\b",
    r"^\W*error (?:executing|running|calling|invoking)(?: mcp)? tool\b|^\W*mcp error -?\d+"
    r"|^\W*input validation error|^\W*\d+ validation errors? for\b",
    r"^\W*failed to [^\n]{0,200}\b(?:GET|POST|PUT|PATCH|DELETE|HEAD) https?://\S{1,800}: [45]\d\d\b",
    r"^\W*(?:\w{1,60} error: )?(?:fetch failed\W*$|getaddrinfo E|connect E[A-Z]{4}"
    r"|request to https?://\S{1,800} failed, reason: )",
    r"^[^\n]{0,80}\brobots\.txt\b[^\n]{0,200}(?:disallow|not allowed|forbid)",
    r"^\W*(?:error: )?\[\s*\{\s*\"code\": ?\"invalid|^\W*(?:error: )?(?:invalid arguments for"
    r"|unknown tool|tool \S{1,120} not found)\b",
)
"""The frame that an SDK puts around a failure; content does not begin so."""

READ_FAILED = re.compile(
    r"\W*(?:(?:failed|unable) to|could ?n[o']t|cannot|can't) "
    r"(?:get|read|open|load|fetch|retrieve|find|access|parse|convert|extract|download|decode|resolve"
    r"|list)\b|E[A-Z]{3,14}: ",
    re.IGNORECASE,
)
"""How a tool that reads something says that it could not."""

NO_SUCH_THING = re.compile(
    r"\W*no (?:[\w'\"-]{1,40} ){1,3}(?:in|for|on|with|at|named|found|exists?|match\w{0,3})\b", re.IGNORECASE
)
"""A tool that would change something says that it is not there."""

SHELL_ERROR = re.compile(
    r"(?:[\w./-]{1,60}: ){1,3}(?:line \d+: )?[^\n]{0,300}(?:No such file or directory|Permission denied"
    r"|command not found|not found|Connection (?:refused|timed out)|Is a directory|Not a directory|invalid option)"
    r"|'[^'\n]{1,100}' is not recognized as",
    re.IGNORECASE,
)
"""How a shell and its programs report."""

ERROR_SENTENCE = re.compile(
    r"[\W_]{0,6}(?:(?:i'm sorry,? |sorry,? |oops[,!] |operation |request |query |the )?"
    r"(?:failed to|failure (?:to|in|while|of)|cannot|can't|can not|could ?n[o']t|unable to|was unable to)\b"
    r"|invalid\b|unknown (?:\w+ ){0,2}[:'\"`]|unknown (?:tool|command|method|function|action|operation"
    r"|option|argument)"
    r"|missing (?:\w+ ){0,3}(?:arguments?|parameters?|fields?|propert(?:y|ies)|values?|keys?|tokens?"
    r"|credentials?|input)"
    r"|missing (?:required|arguments?)|no such\b|not found\b|access (?:is )?denied|permission denied"
    r"|unauthori[sz]ed|forbidden\b"
    r"|unsupported\b|bad request|rate limit|too many requests|(?:request )?timed out|timeout\b"
    r"|internal (?:server )?error"
    r"|(?:operation|request|command|query|tool call|call|execution) (?:failed|timed out|not permitted"
    r"|was rejected|rejected|aborted)"
    r"|not (?:allowed|authenticated|connected|authori[sz]ed|supported|permitted|implemented)\b"
    r"|\[?Errno \d+\]?|connect E[A-Z]+|net::ERR_\w+|(?:the )?connection to .{1,80} (?:was )?refused"
    r"|password authentication failed"
    r"|(?:the )?(?:operation|request) was (?:aborted|cancelled|rejected|denied|blocked)"
    r"|[\w.]{1,60}\(\) (?:missing|got an? |takes)"
    r"|something went wrong|the system cannot find|unexpected (?:EOF|end of|error|failure)"
    r"|your request was (?:rejected|denied|blocked)"
    r"|insufficient (?:funds|permissions?|quota|credits?|balance|privileges?)|conflict \("
    r"|tool_not_found|HTTP error [45]\d\d|method not found"
    r"|E(?:NOENT|ACCES|ISDIR|NOTDIR|EXIST|PERM|CONNREFUSED|NOTFOUND|TIMEDOUT)\b(?! (?:\w+ )?(?:means|stands|is|are))"
    r"|illegal (?:\w+ ){0,2}\w+:|you (?:need|have|must) [^\n.]{1,80}\b(?:before|first)\b"
    r"|错误|錯誤|失败|失敗|无法|無法|找不到|未找到|参数错误"
    r"|(?:HTTP )?[45]\d\d (?:client error|server error|bad request|unauthori|forbidden|not found"
    r"|internal|too many|request entity|access denied|gone\b|conflict\b|unprocessable|bad gateway"
    r"|service unav|gateway|payment required|method not)"
    r"|(?:[\w'\"-]{1,40} ){1,5}failed:\s"
    r"|(?!\d)(?:[\w-]{1,40} ){1,3}failed (?:for|while|during|when) [^\n:]{0,200}:\s)",
    re.IGNORECASE,
)
"""A short text that opens as a report does."""

ERROR_CLAUSE = any_of(
    r"\b(?:file|directory|folder|path|table|sheet|document|branch) .{0,200}['\"`\w] exists$",
    r"(?<!not )(?<=\S )(?:failed|refused|rejected)(?:\.?$| (?:with|because|due to|to)\b)",
    r"\bis not (?:set|configured|available)\b",
    r"\bis not in (?:the|this|your)\b|\bthere (?:is|was|are) no (?:\w+ ){1,3}(?:called|named|with|matching)\b",
    r"^\W*(?:[a-z-]+ ){0,2}(?:domain|range|parse|parser|syntax|lookup|internal|unknown|runtime) error\W*$",
    r"\b(?:do|does|did)(?: not|n't) (?:exist|match any|resolve to|have (?:a|any))\b",
    r"\b(?:was|were|is|are|be|been|currently)? ?not (?:be )?found\b(?! to\b)",
    r"\balready (?:exists?|in use|taken)\b",
    r"\bis not (?:an? )?(?:valid|allowed|supported|permitted|recogni[sz]ed|defined|directory|file"
    r"|connected|loaded|installed|known)\b",
    r"\b(?:is|are) (?:invalid|required|missing|unsupported|out of (?:range|bounds)|too (?:long|large|short))\b",
    r"\bout of (?:range|bounds)\b",
    r"\bmust (?:be|have|not|start|contain|match|provide)\b",
    r"\b(?:cannot|can't|could not) be\b",
    r"\btimed out\b",
    r"\bno such (?:file|table|column|tool|element|key)\b",
    r"\bnot (?:permitted|authorized|allowed)\b",
    r"\b(?:failed|refused)(?:: | with (?:code|status|error)| due to\b)",
    r"\bno .{1,60}(?:found|available|loaded|open) (?:for|with|named|at|in|by|under"
    r"|matching)\b.{0,20}\b(?:id|name|path|key|named)\b",
    r"^\W*no .{1,60}\bcurrently (?:loaded|open|selected|active)\b",
    r"找不到|未找到|不存在|(?:格式|参数|參數)(?:错误|錯誤)|不能为空|不能為空|无效|無效|失败|失敗",
)
"""A clause that makes a short text a report wherever it stands in it."""

MISSING_CLAUSE = any_of(
    r"\b(?:do|does|did)(?: not|n't) exist\b",
    r"\bnot (?:be )?found\b(?! to\b)",
    r"\bno such\b|\bis not (?:a|an) (?:\w+ )?(?:file|directory|document)\b|\boutside\b|\bnot allowed\b|\bis not set$",
)
"""The clauses that stored text about a thing hardly ever has about that very thing."""

SHORT_REFUSAL = re.compile(
    r"\W{0,4}(?:search |input |the )?(?:[\w'\"-]{1,30} ){1,4}(?:cannot be (?:empty|blank|null|negative)"
    r"|must (?:be|have|not be|contain)|is required|are required|(?:is|are) (?:invalid|missing))\b",
    re.IGNORECASE,
)
"""A refusal in so few words that it is no search result."""

SUCCESS_START = re.compile(
    r"\W{0,6}(?:success\w*\b|ok\b|done\b|created\b|updated\b|saved\b|added\b|deleted\b|removed\b|wrote\b"
    r"|written\b|found \d|completed\b"
    r"|0 errors?\b|no (?:\w+ )?(?:errors?|warnings?|issues?|problems?|failures?)\b|warning: (?!failed|error)|note:)",
    re.IGNORECASE,
)
"""A text that opens by saying that it went well."""

NO_RESULTS = re.compile(
    r"\W{0,4}(?:no (?:[\w-]+ ){0,4}(?:found|available|returned|match(?:es|ed)?|exist|yet|to (?:show"
    r"|display|report))\b"
    r"|no (?:[\w-]+ ){0,2}(?:results?|matches|occurrences|hits|entries|records|rows|items|comments|data|output)\b"
    r"|(?:0|zero) (?:[\w-]+ )?(?:results?|matches|rows|items|records|hits|documents)\b|nothing (?:found|to)\b"
    r"|没有(?:查询|找)到|未能?(?:查询|检索|搜索|查)到|暂无|沒有找到|(?:query returned|returned|found) (?:no|0|zero) "
    r"|empty (?:result|list|set)|\(?empty\)?$|not found any\b)",
    re.IGNORECASE,
)
"""A short text that says that the search brought nothing."""

WRAPPER = re.compile(
    r"^(?:#{1,4} (?:result|error)\s*\n+|error (?:executing|running|calling|invoking"
    r"|in)(?: mcp)?(?: tool)? ['\"]?[\w./:-]{1,100}['\"]?:\s*"
    r"|mcp error -?\d+:\s*|tool (?:execution|call) (?:failed|error):\s*|error ?\([^)\n]{0,60}\):\s*"
    r"|error:\s*|<error>\s*"
    r"|(?:i|we)(?:'ve| have)? (?:encountered|hit|got|ran into) an? [^\n.:]{0,120}[.:]\s*"
    r"|(?:this|the error) (?:was|is)(?: the error)?:\s*)",
    re.IGNORECASE,
)
"""What only wraps a report: the frame of an SDK or of a harness."""

SERVER_UNKNOWN = re.compile(
    r"\b(?:unknown|no such|invalid|unrecogni[sz]ed|undefined|unavailable) (?:mcp )?server"
    r":? ['\"`]?(?P<first>[\w./:-]{1,100})"
    r"|\bserver(?: named| with name)?:? "
    r"(?:['\"`](?P<quoted>[^'\"`\n]{1,100})['\"`]|(?P<second>[\w./:-]{1,100})) (?:is |was )?"
    r"(?:not (?:found|available|known|registered|configured|connected|defined|enabled|listed|exposed)"
    r"|does(?: not|n't) exist|unknown|unavailable|undefined)"
    r"|\bno (?:(?:active |open )?(?:connection|client|session) (?:was )?(?:found |available |registered )?"
    r"(?:for|to|with) )?(?:the )?(?:mcp )?server(?: (?:named|called|with (?:the )?name|for(?: tool)?))?:? "
    r"['\"`]?(?P<third>[\w./:-]{1,100})",
    re.IGNORECASE,
)
"""How a harness says that it has no server of that name."""

TOOL_UNKNOWN = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|unsupported|invalid|no such|undefined|unavailable|non-?existent|unregistered"
    r"|unlisted|missing) (?:tool|method"
    r"|function)(?: name)?\b(?! (?:argument|call arg|input|param))"
    r"|\b(?:tool|method|function)(?: with name| named| name)?:? ?['\"`]?[\w./:-]{1,120}['\"`]? (?:was "
    r"|is |could )?(?:not (?:be )?(?:found|available|registered|known|exist|recogni[sz]ed|defined|exposed"
    r"|enabled|offered)|does(?: not|n't) exist|unavailable|unknown|undefined|not in (?:the|this|any)\b)"
    r"|\btool not found|\bno (?:tool|function) (?:named|called|with (?:the )?name|found)"
    r"|\bis not an? (?:valid|known|available|registered|recogni[sz]ed|existing|supported) (?:tool|function|action)\b"
    r"|\b(?:unknown|unrecogni[sz]ed|unsupported) (?:tool |function )?call: ?['\"`]?[a-z]\w{0,60}(?:__|[./:-])\w"
    r"|\baction ['\"`][^'\"`\n]{1,120}['\"`] (?:do|does)(?: not|n't) exist\b"
    r"|tool_not_found|^(?:tool|method|function) not found|\b(?:has|have"
    r"|there is) no (?:tool|function) ",
    re.IGNORECASE,
)
