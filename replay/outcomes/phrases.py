"""How servers word their failures: the shapes of a report, and the families of causes.

All expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


HEADING = re.compile(
    r"(?:#{1,4} (?:result|error|output|response)s?\s*\n+)+|(?:```\w*\n)|<(?:tool_(?:use_)?)?error>\s*", re.IGNORECASE
)
"""What may stand before a report without being part of it."""

PREFIX = re.compile(
    r"[\W_]{0,6}(?:"
    r"error(?: ?\[[^\]\n]{0,60}\]| ?\([^)\n]{0,80}\)| \d{3}| code \S{1,20})?\s{0,2}(?::|-|–|—)"
    r"|error (?:executing|running|calling|invoking|occurred|in|while|when|during|from|\w+ing)\b[^\n]{0,300}?"
    r"(?::|\.(?:\s|$)|$)"
    r"|(?:an|the) (?:\w+ )?(?:error|exception) (?:occurred|was raised|happened)"
    r"|[A-Z]?\w{0,60}(?:Error|Exception)\b ?(?:[:(]|$)"
    r"|(?:unexpected |internal |unknown )?(?:\w{1,20} )?(?:database|api|http|https|validation"
    r"|connection|network|sql|query|request|server"
    r"|client|runtime|syntax|parse|parser|tool|execution|command|file|input|i/?o|type|value|key"
    r"|timeout|auth\w*|permission"
    r"|unexpected|internal|unknown|search|fatal|security|configuration|config|rate limit|parameter|argument)"
    r" (?:error|exception)(?: \d{3})?(?: ?\([^)\n]{0,80}\))?:"
    r"|mcp error -?\d+|fatal(?: error)?:|panic:|(?:caught |unhandled |uncaught )?exception[.:]|failure:|failed:"
    r"|traceback \(most recent call last\)|security violation)",
    re.IGNORECASE,
)
"""A report that says in its first words that it is one."""

LABEL = re.compile(r"[\W_]{0,6}(?:[\w'./-]{1,40} ){1,4}(?:error|exception)(?: ?\([^)\n]{0,80}\))?:", re.IGNORECASE)
"""A looser prefix (`Frobnication error: `), for tools that do not return prose."""

ERROR_LINE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)\b")
"""The line with which a Python traceback ends."""

DATA = re.compile(
    r"\s*(?:\[\s*[\[({'\"]|\{\s*['\"]|\(\s*[('\"\[]|#{1,3} (?!(?:error|result|failed)\s*\n)"
    r"|<[?!a-z]|\|)",
    re.IGNORECASE,
)
"""How data and documents begin: literals of lists and records, headings, markup, tables."""

FRAME = _any(
    r"^\W*error (?:executing|running|calling|invoking)(?: mcp)? tool\b|^\W*mcp error -?\d+"
    r"|^\W*input validation error|^\W*\d+ validation errors? for\b",
    r"^\W*(?:error: )?\[\s*\{\s*\"code\": ?\"invalid|^\W*(?:error: )?(?:invalid arguments for"
    r"|unknown tool|tool \S{1,120} not found)\b",
)
"""The frame that an SDK puts around a failure; content does not begin so."""

FAILED_READING = re.compile(
    r"\W*(?:(?:failed|unable) to|could ?n[o']t|cannot|can't) "
    r"(?:get|read|open|load|fetch|retrieve|find|access|parse|convert|extract|download|decode|resolve"
    r"|list)\b|E[A-Z]{3,14}: ",
    re.IGNORECASE,
)
"""How a tool that reads something says that it could not."""

NOTHING_THERE = re.compile(r"\W*no (?:[\w'\"-]{1,40} ){1,3}(?:in|for|on|with|at|named|found|exists?)\b", re.IGNORECASE)
"""A tool that would change something says that it is not there."""

SHELL = re.compile(
    r"(?:[\w./-]{1,60}: ){1,3}(?:line \d+: )?[^\n]{0,300}(?:No such file or directory|Permission denied"
    r"|command not found|not found|Is a directory|Not a directory|invalid option)"
    r"|'[^'\n]{1,100}' is not recognized as",
    re.IGNORECASE,
)
"""How a shell and its programs report."""

SENTENCE = re.compile(
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
    r"|E(?:NOENT|ACCES|ISDIR|NOTDIR|EXIST|PERM|CONNREFUSED|NOTFOUND|TIMEDOUT)\b"
    r"|(?:HTTP )?[45]\d\d (?:client error|server error|bad request|unauthori|forbidden|not found"
    r"|internal|too many|request entity|access denied|gone\b|conflict\b|unprocessable|bad gateway"
    r"|service unav|gateway|payment required|method not)"
    r"|(?:[\w'\"-]{1,40} ){1,5}failed: )",
    re.IGNORECASE,
)
"""A short text that opens as a report does."""

CLAUSE = _any(
    r"\b(?:file|directory|folder|path|table|sheet|document|branch) .{0,200}['\"`\w] exists$",
    r"(?<!not )\b(?:failed|refused|rejected)(?:\.?$| (?:with|because|due to|to)\b)",
    r"\bis not (?:set|configured|available)\b",
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
)
"""A clause that makes a short text a report wherever it stands in it."""

SUCCESS_START = re.compile(
    r"\W{0,6}(?:success\w*\b|ok\b|done\b|created\b|updated\b|saved\b|added\b|deleted\b|removed\b|wrote\b"
    r"|written\b|found \d|completed\b"
    r"|0 errors?\b|no (?:\w+ )?(?:errors?|warnings?|issues?|problems?|failures?)\b|warning: (?!failed|error)|note:)",
    re.IGNORECASE,
)
"""A text that opens by saying that it went well."""

EMPTY = re.compile(
    r"\W{0,4}(?:no (?:[\w-]+ ){0,4}(?:found|available|returned|match(?:es|ed)?|exist|yet|to (?:show"
    r"|display|report))\b"
    r"|no (?:[\w-]+ ){0,2}(?:results?|matches|occurrences|hits|entries|records|rows|items|comments|data|output)\b"
    r"|(?:0|zero) (?:[\w-]+ )?(?:results?|matches|rows|items|records|hits|documents)\b|nothing (?:found|to)\b"
    r"|(?:query returned|returned|found) (?:no|0|zero) |empty (?:result|list|set)|\(?empty\)?$|not found any\b)",
    re.IGNORECASE,
)
"""A short text that says that the search brought nothing."""

WRAPPING = re.compile(
    r"^(?:#{1,4} (?:result|error)\s*\n+|error (?:executing|running|calling|invoking"
    r"|in)(?: mcp)?(?: tool)? ['\"]?[\w./:-]{1,100}['\"]?:\s*"
    r"|mcp error -?\d+:\s*|tool (?:execution|call) (?:failed|error):\s*|error ?\([^)\n]{0,60}\):\s*"
    r"|error:\s*|<error>\s*)",
    re.IGNORECASE,
)
"""What only wraps a report: the frame of an SDK or of a harness."""

TOOL_UNKNOWN = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|unsupported|invalid|no such|undefined) (?:tool|method"
    r"|function)(?: name)?\b(?! (?:argument|call arg|input|param))"
    r"|\b(?:tool|method|function)(?: with name| named| name)?:? ?['\"`]?[\w./:-]{1,120}['\"`]? (?:was "
    r"|is |could )?(?:not (?:be )?(?:found|available|registered|known|exist|recogni[sz]ed|defined)"
    r"|does(?: not|n't) exist)"
    r"|\btool not found|\bno (?:tool|function) (?:named|called|with (?:the )?name|found)"
    r"|tool_not_found|^(?:tool|method|function) not found|\b(?:has|have"
    r"|there is) no (?:tool|function) ",
    re.IGNORECASE,
)
INPUT_NO_JSON = _any(
    r"invalid json (?:input|arguments?|string|format|body)? ?(?:for|in|to|of) (?:the )?(?:tool|function"
    r"|arguments?|call)",
    r"(?:could not|couldn't|cannot|failed to|unable to|error) (?:parse|parsing|decode"
    r"|decoding) (?:the )?(?:tool|function)[ -]?(?:call|input|use)? ?(?:arguments?|input|call)",
    r"(?:tool|function)(?: call)? (?:arguments?|input) (?:(?:is|are|was|were) )?not (?:a )?(?:valid"
    r"|well-formed|parseable)(?: json)?",
    r"(?:tool|function)(?: call)? (?:arguments?|input) .{0,40}(?:invalid|malformed) json",
    r"malformed (?:tool|function)[ _-]?call|\bMALFORMED_FUNCTION_CALL\b|invalid tool call format",
)
JSON_PARSER = _any(
    r"\bin JSON at position \d+|unexpected (?:end of JSON input|token .{1,20} in JSON"
    r"|non-whitespace character after JSON)",
    r"JSONDecodeError|expecting (?:value|property name|',' delimiter|':' delimiter).{0,30}line \d+ column \d+",
    r"\bis not valid JSON\b|invalid character .{1,12} looking for beginning of",
)
OWN_OUTPUT = _any(
    r"\d+ validation errors? for \w*(?:Output|Result|Response|Return)\b",
    r"output validation error|invalid structured (?:content|output)|does(?: not|n't) match (?:the "
    r"|its )?(?:tool )?output ?schema",
    r"has an output schema but|structured content .{0,60}(?:schema|missing|invalid|required)",
)
VALIDATION = _any(
    r"\d+ validation errors? for\b",
    r"\binput validation (?:error|failed)|\binvalid (?:\w+ )?(?:arguments?|parameters?|params)\b"
    r"|\bvalidation_error\b|\bValidationError\b",
    r"\"code\":\s*\"(?:invalid_\w+|unrecognized_keys|too_small|too_big|not_multiple_of|custom)\"|\bZodError\b",
    r"is a required property|must have required propert|is not of type '|is not one of \["
    r"|is not valid under any of|additional propert(?:y|ies)",
    r"missing \d+ required (?:positional|keyword)|(?:got an )?unexpected (?:keyword )?argument"
    r"|\bfield required\b|\[type=\w+, input_value",
    r"missing (?:required |mandatory )?(?:arguments?|parameters?|fields?|propert(?:y|ies)|params?)\b"
    r"|required (?:arguments?|parameters?|fields?|propert(?:y|ies)|params?)\b",
    r"(?:argument|parameter|field|property) ['\"`]?\w{1,60}['\"`]? (?:is|was) (?:required|missing"
    r"|not provided|mandatory|invalid)",
    r"\b(?:unknown|unrecogni[sz]ed|unexpected|extra) (?:argument|parameter|field|propert|keys?|input)"
    r"|body failed validation|(?:schema|request) validation failed",
    r"expected (?:string|number|array|object|boolean|integer|int|list|dict)\b.{0,30}(?:received|got|but)\b",
)
STRICT_VALIDATION = _any(
    r"validation error", r"\brequired\b", r"\bmissing\b", r"\bunexpected\b", r"invalid_type", r"expected \w+, received"
)
"""What a check of the arguments says that a failed look-up does not."""

RATE = _any(
    r"rate[- _]?limit|too many requests|\bquota\b|throttl(?:ed|ing)|usage limit|RESOURCE_EXHAUSTED"
    r"|OVER_QUERY_LIMIT|insufficient[ _](?:quota|credits|balance)"
)
REFUSED_PATH = _any(
    r"\bcan only (?:read|write|access|list|run|open|edit|modify|delete|execute) ",
    r"outside (?:of )?(?:the |its |your )?(?:allowed|permitted|sandbox|workspace|working|root|project"
    r"|base|repository|configured)",
    r"\bnot (?:in|within|under|inside) (?:the |any )?(?:list of )?(?:allowed|permitted|sandbox|workspace)",
    r"path traversal|directory traversal|security (?:violation|policy|restriction|error|check)"
    r"|escapes? (?:the )?(?:root|sandbox|workspace|base)",
    r"\b(?:commands?|flags?|options?|operators?|paths?|extensions?|file types?)\b.{0,80}\b(?:is"
    r"|are)?\s?not (?:allowed|permitted|whitelisted|in the allow)",
    r"\bonly (?:\S+ ){1,5}(?:quer(?:y|ies)|statements?|commands?|operations?|files|urls|schemes"
    r"|protocols)\b.{0,20}\b(?:allowed|supported|permitted|accepted)",
    r"\bnot (?:allowed|permitted) (?:in|for|by|on) (?:read|this tool|security|policy)|read-?only (?:mode"
    r"|transaction|database|connection|session)",
)
UNAUTHORIZED = _any(
    r"unauthori[sz]ed|\bforbidden\b|REQUEST_DENIED|AccessDenied|(?:locate|load|find|obtain"
    r"|get) (?:\w+ )?credentials|bad credentials|invalid_auth|not_authed|permission_denied\b"
    r"|login required|\brobots\.txt\b.{0,80}(?:disallow|not allowed|forbid|specif)",
    r"authenticat\w{1,4} (?:has )?(?:failed|failure|required|error|is required)|\bnot (?:authenticated"
    r"|logged in|authori[sz]ed)|could not authenticate",
    r"(?:invalid|incorrect|missing|expired|wrong|bad|no|without"
    r"|revoked)\W{1,3}(?:\w{1,20}[ _-]){0,2}(?:api[ _-]?key|apikey|(?:access|auth|api|bearer|oauth"
    r"|refresh|jwt|bot|personal access)[ _-]?token|credentials?|api[ _-]?token|password for user)\b",
    r"(?:api[ _-]?key|token|credentials?|secret|password)\b.{0,40}\b(?:(?:is|are|was"
    r"|were) )?(?:not (?:set|configured|provided|found|valid|authori[sz]ed)|missing|required|invalid"
    r"|expired|rejected)\b",
    r"insufficient (?:permissions?|scopes?|privileges?|access)|password authentication failed"
    r"|(?:environment variables?|env vars?)\b.{0,60}\b(?:not set|missing|required|must be set|not defined)",
    r"access denied for user|requires authentication|sign in to|please (?:log|sign) in",
)
FETCH_FAILED = _any(r"(?:could not|couldn't|cannot|can't|unable to|failed to|error) fetch(?:ing)?\b")
NETWORK = _any(
    r"\bE(?:NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|PIPE|CONNABORTED|PROTO)\b"
    r"|getaddrinfo|gaierror",
    r"name or service not known|name resolution|nodename nor servname|(?:could not|couldn't|cannot|can't"
    r"|unable to|failed to) resolve (?:host|address|domain|the host|dns|hostname)|no such host"
    r"|no address associated",
    r"failed to resolve ['\"][\w.-]{1,100}['\"]|\bdns\b.{0,30}(?:fail|error|lookup|not)",
    r"connect(?:ion)? (?:\w+ )?(?:to .{1,100} )?(?:was )?(?:refused|reset|aborted|failed|timed out"
    r"|dropped)|connection (?:error|issue|problem|failure|closed|lost|terminated|attempts? failed)"
    r"|connectivity issue",
    r"refused to connect|fetch failed|network ?(?:is |was )?(?:error|unreachable|failure|issue|problem"
    r"|connection)|network request failed|networkerror",
    r"net::ERR_(?:NAME|INTERNET|CONNECTION|NETWORK|ADDRESS|PROXY|TUNNEL|SSL|CERT|TIMED|EMPTY|SOCKET|HTTP2)\w*",
    r"max retries exceeded|ConnectError|ConnectionError|NewConnectionError|ConnectTimeout|ProxyError"
    r"|SSLError|ClientConnectorError",
    r"(?:cannot|can't|could not|couldn't|unable to|failed to|error) (?:connect(?:ing)? to"
    r"|establish (?:a )?(?:new )?connection|reach)\b|no route to host|socket hang up",
    r"certificate verify failed|self[- ]signed certificate|ssl (?:error|handshake)|tls handshake"
    r"|tunnel connection failed|server selection|all connection attempts",
    r"is the (?:docker )?daemon running|is the server running|server misbehaving|no internet"
    r"|host (?:is )?unreachable",
)
TIMEOUT = _any(
    r"\btimed[ -]?out\b|time-?out (?:of )?\d+ ?m?s|timeout \d+ ?m?s exceeded|timeout (?:exceeded|expired"
    r"|reached|after|error)|deadline exceeded",
    r"\bE(?:SOCKET)?TIMEDOUT\b|\bTimeout(?:Error|Expired|Exception)?\b ?(?::|$)|took too long"
    r"|request timeout|exceeded (?:the )?(?:time ?limit|timeout)|statement timeout",
)
OUTAGE = _any(
    r"internal server error|bad gateway|service (?:is )?(?:temporarily |currently )?unavailable"
    r"|gateway time-?out|temporarily unavailable",
    r"\boverloaded\b|under maintenance|backend error|upstream (?:error|connect|request)"
    r"|server (?:is )?(?:busy|down|not responding)",
)
ENVIRONMENT = _any(
    r"exit (?:code|status):? 127|command not found|: \d+: \S{1,100}: not found|not recognized as an internal",
    r"executable doesn't exist|(?:is|are|was) not installed|playwright install|please install|pip install"
    r"|npm install|apt(?:-get)? install|no \S{1,40} was found: either install",
    r"spawn\w{0,8} \S{1,200} (?:ENOENT|EACCES)|no module named|ModuleNotFoundError|cannot import name"
    r"|shared librar",
    r"\bENOSPC\b|no space left|disk (?:is )?full|out of memory|\bENOMEM\b|MemoryError|\bE[MN]FILE\b"
    r"|too many open files|segmentation fault|core dumped|heap limit",
    r"browser .{0,40}(?:has been closed|crashed|not found|failed to launch)"
    r"|target (?:page, context or browser has been )?closed|failed to launch",
    r"database is locked|database disk image is malformed|server (?:is )?not (?:initiali[sz]ed|ready"
    r"|running|started)|not (?:yet )?implemented\b",
)
BAD_ADDRESS = _any(
    r"invalid (?:scheme|url|uri|connection string|port|hostname)|failed to parse url|unsupported protocol"
    r"|no scheme supplied|MissingSchema|InvalidURL|UnsupportedProtocol|ERR_INVALID_URL"
    r"|ERR_UNKNOWN_URL_SCHEME"
)
NEEDLESS = re.compile(
    r"\W{0,4}(?:search |input |the )?(?:[\w'\"-]{1,30} ){1,4}(?:cannot be (?:empty|blank|null|negative)"
    r"|must (?:be|have|not be|contain)|is required|are required|(?:is|are) (?:invalid|missing))\b",
    re.IGNORECASE,
)
"""A refusal in so few words that it is no search result."""

EXISTS = _any(
    r"['\"`\w] exists[.,;](?: |$)|\bfile exists\b",
    r"already (?:exists?|in use|taken|open|registered|defined|present)|\bEEXIST\b|duplicate (?:key|entry"
    r"|name|column|id)|unique constraint",
)
MALFORMED = _any(
    r"syntax ?error|parse ?error|parser error|binder error|conversion error|constraint (?:failed|error"
    r"|violation)|violates .{0,40}constraint",
    r"(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:parse|decode|convert|interpret)"
    r"|malformed|unterminated|unclosed|unbalanced|unexpected (?:token|end|character|eof|input)|unmatched",
    r"invalid (?:syntax|json|regex\w*|regular expression|yaml|xml|url|uri|scheme|date|time format|format"
    r"|expression|formula|base64|uuid|escape|character|start byte|value for)",
    r"(?:marker|delimiter|signature|magic number|bracket|quotation|parenthesis|separator"
    r"|terminator)s? (?:was )?not found|no (?:closing|escaped|opening) ",
    r"(?:division|divide|modulo) by zero|ZeroDivisionError|not a (?:valid|zip|pdf|number|string)"
    r"|file is not a|unsupported (?:format|file|type|operand|scheme|protocol)",
)
MISSING = _any(
    r"\bESRCH\b",
    r"\bENOENT\b|\bno such\b|(?<![a-z])not[ _-]?found|\b(?:do|does|did)(?: not|n't) (?:exist|match any"
    r"|resolve to|point to|contain)\b|non-?existent",
    r"(?:cannot|can't|could not|couldn't|unable to|failed to|did not|didn't) (?:be )?(?:find|found|locate"
    r"|located|resolve)\b|\bnot be found\b",
    r"\bno (?:\S{1,60} ){1,6}(?:found|exists?|matching|matches|matched|with (?:id|name|key)|named)\b"
    r"|\bnothing (?:found|matches)",
    r"unknown (?:table|column|database|relation|collection|key|id|entity|index|field|revision|user|page"
    r"|document|file|sheet|branch|ref|symbol|time ?zone|city|country|resource|uri)",
    r"(?:table|relation|column|database|collection|schema|view|function) \S{1,80} (?:does not|doesn't)"
    r"|ZERO_RESULTS|no longer (?:exists|available)|has (?:been deleted|expired)|has been removed"
    r"|\bis missing\b",
    r"ambiguous argument .{1,100}unknown revision|did not match any|not in storage|no results"
    r"|ERR_FILE_NOT_FOUND|path does not point",
)
CRASH = _any(
    r"cannot read propert(?:y|ies) (?:of|')|is not (?:a function|iterable|a constructor)|undefined is not"
    r"|(?:null|undefined) \(reading",
    r"'NoneType'|has no attribute|UnboundLocalError|AttributeError|NameError"
    r"|object is not (?:subscriptable|iterable|callable)|(?:local|free) variable|nil pointer"
    r"|runtime error:|not JSON serializable|unhandled exception|stack overflow|maximum recursion",
)
REFUSAL = _any(
    r"\binvalid\b|\billegal\b|\bmust\b|\bshould (?:be|have)\b|\bcannot\b|\bcan't\b|\bexpected\b"
    r"|\brequired?s?\b|\bnot (?:allowed|supported|permitted|valid|an?|merged|empty)\b",
    r"\bunsupported\b|out of (?:range|bounds)|\bexceeds?\b|\btoo (?:long|large|short|small|many|few"
    r"|big)\b|\bat (?:least|most)\b|\bbetween\b|\bunknown\b|\bunrecogni[sz]ed\b",
    r"\bmissing\b|\bempty\b|bad request|greater than|less than|is not (?:defined|callable)|\bE(?:ISDIR"
    r"|NOTDIR|NOTEMPTY|NAMETOOLONG|INVAL|ACCES|PERM)\b|mismatch|ambiguous",
    r"\bno \S{1,40}(?: \S{1,40})? (?:provided|given|specified|open|loaded|selected)|refus|\bden(?:y"
    r"|ied)\b|reject|\bfirst\b|only (?:\w+ )?(?:sheet|one)|\bnot (?:a|an) |expects?\b|ValueError"
    r"|TypeError|unique|malformed",
)

_STATUS = re.compile(
    r"(?:\bHTTP(?:/[\d.]+)?(?: (?:status|error|code|response|request)){0,3}|\bstatus(?:[ _-]?code)?"
    r"|\bstatusCode|\bcode|\berror|\breturned|\bresponse|\bfailed with)"
    r"[\s:=(\[\"'#-]{0,5}(?P<named>[45]\d\d)\b(?!\.\d)"
    r"|(?<![\d.])(?P<phrase>[45]\d\d)[\s:,)\]-]{1,3}(?:client error|server error|bad request|unauthori"
    r"|payment required|forbidden|not found|method not|not acceptable|conflict|gone\b|unprocessable"
    r"|too many|internal|bad gateway|service unav|gateway|validation failed)"
    r"|https?://\S{1,400}: (?P<after>[45]\d\d)\b|^\W{0,3}(?P<start>[45]\d\d)[ :]+[A-Z]",
    re.IGNORECASE,
)
_RPC_CODE = re.compile(r"\b(?:mcp|rpc|json-rpc) error:? (?:code )?(-3[23]\d{3})\b", re.IGNORECASE)


def http_status(text: str) -> int | None:
    """The first HTTP error status that the text gives as one."""
    found = _STATUS.search(text[:4000])
    return int(found["named"] or found["phrase"] or found["after"] or found["start"]) if found else None


def rpc_code(text: str) -> int | None:
    """The JSON-RPC error code that an SDK wrote into its text."""
    found = _RPC_CODE.search(text[:300])
    return int(found[1]) if found else None


_TROUBLE = (PREFIX, SENTENCE, CLAUSE, RATE, UNAUTHORIZED, TIMEOUT, OUTAGE)
LOOSE = re.compile("|".join(family.pattern for family in _TROUBLE), re.IGNORECASE)
"""Any sign of trouble, for texts that are a message to the reader and nothing else."""
