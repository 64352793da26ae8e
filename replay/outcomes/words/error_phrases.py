"""How servers word their failures: families of causes.

All expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import re

from replay.outcomes.words.patterns import ERROR_CLAUSE, ERROR_PREFIX, ERROR_SENTENCE, any_of

INPUT_NOT_JSON = any_of(
    r"invalid (?:input|arguments?|parameters?) (?:for|to) (?:the )?(?:tool|function)\b[^\n]{0,80}"
    r"\bJSON pars\w{1,4} (?:failed|error)",
    r"invalid json (?:input|arguments?|string|format|body)? ?(?:for|in|to|of) (?:the )?(?:tool|function"
    r"|arguments?|call)",
    r"(?:could not|couldn't|cannot|failed to|unable to|error) (?:parse|parsing|decode"
    r"|decoding) (?:the )?(?:tool|function)[ -]?(?:call|input|use)? ?(?:arguments?|input|call)",
    r"(?:tool|function)(?: call)? (?:arguments?|input) (?:(?:is|are|was|were) )?not (?:a )?(?:valid"
    r"|well-formed|parseable)(?: json)?",
    r"(?:tool|function)(?: call)? (?:arguments?|input) .{0,40}(?:invalid|malformed) json",
    r"malformed (?:tool|function)[ _-]?call|\bMALFORMED_FUNCTION_CALL\b|invalid tool call format",
)

JSON_PARSE_ERROR = any_of(
    r"\bin JSON at position \d+|unexpected (?:end of JSON input|token .{1,20} in JSON"
    r"|non-whitespace character after JSON)",
    r"JSONDecodeError|expecting (?:value|property name|',' delimiter|':' delimiter).{0,30}line \d+ column \d+",
    r"\bis not valid JSON\b|invalid character .{1,12} looking for beginning of",
)

OUTPUT_INVALID = any_of(
    r"\d+ validation errors? for \w*(?:Output|Result|Response|Return)\b",
    r"output validation (?:error|failed)|invalid structured[ _]?(?:content|output)|does(?: not|n't) match (?:the "
    r"|its )?(?:tool )?output ?schema",
    r"invalid (?:\w{1,40}/\w{1,40}|(?:tools? )?call(?:[ _]?tool)?)[ _]?result\b"
    r"|\binvalid (?:response|output|result) (?:shape|schema|structure|body|format)|response validation failed"
    r"|has an output schema but|structured[ _]?content (?:.{0,60}(?:schema|missing|invalid|required)"
    r"|does(?: not|n't) match)",
)

NEEDS_A_CLIENT = any_of(
    r"\bis not available in a replay\b",
    r"\b(?:method not found|(?:unknown|unsupported|unhandled) (?:method|request)|no (?:handler|such method))"
    r"[^\w\n]{0,4}(?:for )?(?:method )?['\"`]?(?:sampling/createMessage|elicitation/create|roots/list)\b",
    r"\b(?:sampling/createMessage|elicitation/create|roots/list)\b['\"`]?:? (?:request )?(?:(?:is|was|are) )?"
    r"(?:not (?:supported|available|implemented|enabled|handled|found|allowed)|unsupported|method not found)",
    r"\b(?:client|host)\b.{0,30}\b(?:(?:does|do|did)(?: not|n't) (?:support|have|declare|advertise|offer"
    r"|provide|implement|allow)|lacks|has no|cannot handle|without)\b (?:\S{1,20} ){0,4}"
    r"(?:sampling|elicitations?|(?<!square )roots(?=\W{0,3}$| \())\b",
    r"\b(?:sampling|elicitation|roots)(?: \w{1,20}){0,2} (?:(?:is|are) )?(?:not (?:supported|available|implemented"
    r"|enabled)|unsupported|unavailable)(?:\W{0,3}$"
    r"| (?:by|in|on) (?:the |this |your )?(?:\w{1,20} )?(?:client|host)\b)",
)
"""A server that asked its client for something, and got none of it: clients refuse in these words."""

VALIDATION_ERROR = any_of(
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

STRICT_VALIDATION = any_of(
    r"validation error", r"\brequired\b", r"\bmissing\b", r"\bunexpected\b", r"invalid_type", r"expected \w+, received"
)
"""What a check of the arguments says that a failed look-up does not."""

RATE_LIMIT = any_of(
    r"rate[- _]?limit|too many requests|\bquota\b|throttl(?:ed|ing)|usage limit|RESOURCE_EXHAUSTED"
    r"|OVER_QUERY_LIMIT|insufficient[ _](?:quota|credits|balance)|bot[- ]detection"
    r"|billing (?:hard )?(?:limit|quota)|402\b.{0,20}payment required|^\W*payment required|spending limit|\bcaptcha\b"
    r"|请求过于频繁|請求過於頻繁|频率限制"
)

TOO_LARGE = any_of(
    r"^\W*(?:error: )?(?:the )?(?:mcp )?(?:(?:tool|file|page|query|command|raw) )?(?:['\"`][^'\"`\n]{1,80}['\"`] )?"
    r"(?:contents?|output|results?|response|answer)\b[^\n]{0,60}"
    r"\b(?:exceeds?|exceeded|too (?:large|long|big)|larger than|longer than)\b[^\n]{0,80}",
)
"""An answer that was there, and was held back for its size."""

POLICY_REFUSAL = any_of(
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

NOT_FOUND_OR_HIDDEN = any_of(
    r"not exist,? or .{0,60}(?:authori[sz]|permission|access)",
    r"not found,? or .{0,60}(?:authori[sz]|permission|access)",
)
"""What a backend says of a thing that is missing, or that it will not admit to."""

UNAUTHORIZED = any_of(
    r"unauthori[sz]ed|\bunauthenticated\b|\bauth(?:entication|orization)?_required\b|\bforbidden\b|REQUEST_DENIED|AccessDenied|(?:locate|load|find|obtain"
    r"|get) (?:\w+ )?credentials|bad credentials|invalid_auth|not_authed|permission_denied\b"
    r"|login required|\brobots\.txt\b.{0,80}(?:disallow|not allowed|forbid|specif)",
    r"authenticat\w{1,4} (?:has )?(?:failed|failure|required|error|is required)|\bnot (?:authenticated"
    r"|logged in|authori[sz]ed)|could not authenticate",
    r"(?:invalid|incorrect|missing|expired|wrong|bad|no|without"
    r"|revoked)\W{1,3}(?:\w{1,20}[ _-]){0,2}(?:api[ _-]?key|apikey|(?:access|auth|api|bearer|oauth"
    r"|refresh|jwt|bot|personal access)[ _-]?token|credentials?|api[ _-]?token|password for user)\b",
    r"(?<![^\W\d_])(?:api[ _-]?key|token|credentials?|secret|password)\b.{0,40}\b(?:(?:is|are|was"
    r"|were) )?(?:not (?:set|configured|provided|found|valid|authori[sz]ed)|missing|required|invalid"
    r"|expired|rejected)\b",
    r"insufficient (?:permissions?|scopes?|privileges?|access)|missing[_ ]scopes?\b"
    r"|\binvalid[_ ](?:grant|client|token)\b|does not have (?:the )?(?:[\w.:-]{1,80} ){0,3}(?:permission|access)"
    r"|未授权|未授權|权限不足|權限不足|未登录|请先登录|password authentication failed"
    r"|(?:environment variables?|env vars?)\b.{0,60}\b(?:not set|missing|required|must be set|not defined)",
    r"(?:username|password|credentials?)\b.{0,30}\bnot accepted"
    r"|access denied for user|access denied: project|requires authentication|sign in to|please (?:log|sign) in",
)

FETCH_FAILED = any_of(r"(?:could not|couldn't|cannot|can't|unable to|failed to|error) fetch(?:ing)?\b")

NETWORK_DOWN = any_of(
    r"certificate (?:has expired|is not yet valid|chain)|network socket|TLS connection|socket disconnected",
    r"\bE(?:NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|PIPE|CONNABORTED|PROTO)\b"
    r"|getaddrinfo|gaierror",
    r"name or service not known|name resolution|nodename nor servname|(?:could not|couldn't|cannot|can't"
    r"|unable to|failed to) resolve (?:host|address|domain|the host|dns|hostname)|no such host"
    r"|no address associated",
    r"failed to resolve ['\"][\w.-]{1,100}['\"]|\bdns\b.{0,30}(?:fail|error|lookup|not)",
    r"connect(?:ion)? (?:\w+ )?(?:to .{1,100} )?(?:was )?(?:refused|reset|aborted|failed|timed out"
    r"|dropped)|connection (?:error|issue|problem|failure|closed|lost|terminated|attempts? failed)"
    r"|connectivity issue",
    r"https?://\S{1,800} (?:has )?return(?:s|ed)? (?:None|null|nothing|an? empty"
    r"|no (?:data|content|response|answer))\b",
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
    r"|host (?:is )?unreachable|broken pipe|\bsocket error|violation of protocol|RemoteDisconnected"
    r"|\[SSL: |check your (?:network|internet)|网络(?:错误|异常|连接)|網路錯誤",
)

TIMEOUT = any_of(
    r"\bAbortError\b|\boperation was aborted\b",
    r"\btimed[ -]?out\b|time-?out (?:of )?\d+ ?m?s|timeout \d+ ?m?s exceeded|timeout (?:exceeded|expired"
    r"|reached|after|error)|deadline exceeded",
    r"\bE(?:SOCKET)?TIME(?:D)?OUT\b|\bTimeout(?:Error|Expired|Exception)?\b ?(?::|$)|took too long"
    r"|request timeout|exceeded (?:the )?(?:time ?limit|timeout)|statement timeout|超时|逾時",
)

OUTAGE = any_of(
    r"encountered an internal error|internal error and was unable",
    r"internal server error|bad gateway|service (?:is )?(?:temporarily |currently )?unavailable"
    r"|gateway time-?out|temporarily (?:unavailable|busy|down|offline|out of service|locked|disabled)",
    r"\boverloaded\b|under maintenance|backend error|upstream (?:error|connect|request)"
    r"|server (?:is )?(?:busy|down|not responding)|\b(?:api|service|backend) (?:is|may be|might be) unavailable",
)

ENVIRONMENT = any_of(
    r"exit (?:code|status):? 127|command not found|: \d+: \S{1,100}: not found|not recognized as an internal",
    r"executable doesn't exist|(?:is|are|was) not (?:\w{1,20} )?installed"
    r"|\bnot available on this (?:\w{1,20} )?(?:server|machine|host|system|computer|platform)"
    r"|\bnot (?:found|available)\b[^\n]{0,60}\binstall\b"
    r"|playwright install|please install|pip install"
    r"|npm install|apt(?:-get)? install|no \S{1,40} was found: either install",
    r"spawn\w{0,8} \S{1,200} (?:ENOENT|EACCES)|no module named|ModuleNotFoundError|cannot import name"
    r"|shared librar",
    r"\bENOSPC\b|no space left|disk (?:is )?full|out of memory|\bENOMEM\b|MemoryError|\bE[MN]FILE\b"
    r"|too many open files|segmentation fault|core dumped|heap limit",
    r"browser .{0,40}(?:has been closed|crashed|not found|failed to launch)"
    r"|target (?:page, context or browser has been )?closed|failed to launch",
    r"(?:could not|couldn't|cannot|unable to) (?:find|locate) (?:chrom|firefox|webkit|(?:an? |the )?(?:browser|exec))"
    r"|did not perform an installation|(?-i:\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b)[^:\n]{0,12} (?:to be|is not|are not"
    r"|must be) (?:set|configured)\b",
    r"database is locked|database disk image is malformed|server (?:is )?not (?:initiali[sz]ed|ready"
    r"|running|started)|not (?:yet )?implemented\b",
)

BAD_ADDRESS = any_of(
    r"invalid (?:scheme|url|uri|connection string|port|hostname)|failed to parse url|unsupported protocol"
    r"|no scheme supplied|MissingSchema|InvalidURL|UnsupportedProtocol|ERR_INVALID_URL"
    r"|ERR_UNKNOWN_URL_SCHEME"
)

ALREADY_EXISTS = any_of(
    r"['\"`\w] exists[.,;](?: |$)|\bfile exists\b",
    r"already (?:exists?|in use|taken|open|registered|defined|present)|\bEEXIST\b|duplicate (?:key|entry"
    r"|name|column|id)|unique constraint",
)

MALFORMED_VALUE = any_of(
    r"syntax ?error|parse ?error|parser error|binder error|conversion error|constraint (?:failed|error"
    r"|violation)|violates .{0,40}constraint",
    r"(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:parse|decode|convert|interpret)"
    r"|malformed|unterminated|unclosed|unbalanced|unexpected (?:token|end|character|eof|input)|unmatched",
    r"invalid (?:syntax|json|regex\w*|regular expression|yaml|xml|url|uri|scheme|date|time format|format"
    r"|expression|formula|base64|uuid|escape|character|start byte|value for)",
    r"\bline \d{1,7},? col(?:umn)? \d{1,7}",
    r"(?:marker|delimiter|signature|magic number|bracket|quotation|parenthesis|separator"
    r"|terminator)s? (?:was )?not found|no (?:closing|escaped|opening) ",
    r"(?:division|divide|modulo) by zero|ZeroDivisionError|not a (?:valid|zip|pdf|number|string)"
    r"|file is not a|unsupported (?:\w+ ){0,2}(?:format|file|type|operand|scheme|protocol|encoding)"
    r"|\bbut \d+ (?:\w+ )?(?:was|were) (?:supplied|given|provided)\b"
    r"|\bexpected [^\n]{1,60} (?:but )?(?:received|got)\b",
)

NOT_FOUND = any_of(
    r"\bESRCH\b",
    r"\bENOENT\b|\bno such\b|(?<![a-z])not[ _-]?found|\b(?:do|does|did)(?: not|n't) (?:exist|match any"
    r"|resolve to|point to|contain)\b|non-?existent",
    r"(?:cannot|can't|could not|couldn't|unable to|failed to|did not|didn't) (?:be )?(?:find|found|locate"
    r"|located|resolve)\b|\bnot be found\b",
    r"\bno (?:\S{1,60} ){1,6}(?:found|exists?|matching|matches|matched|with (?:id|name|key)|named|called)\b"
    r"|\bnothing (?:found|matches)",
    r"unknown (?:table|column|database|relation|collection|key|id|entity|index|field|revision|user|page"
    r"|document|file|sheet|branch|ref|symbol|time ?zone|city|country|resource|uri|channel|message|member|account"
    r"|mailbox|folder|project|repositor|issue|team|task|node|host|device|product|order|customer|model|dataset"
    r"|ticker|station|airport|location|label)",
    r"(?:table|relation|column|database|collection|schema|view|function) \S{1,80} (?:does not|doesn't)"
    r"|ZERO_RESULTS|no longer (?:exists|available)|has (?:been deleted|expired)|has been removed"
    r"|\bis not in (?:the|this|your)\b|\bis missing\b(?! (?:\w+ )?(?:required|mandatory|an?|the)\b)",
    r"ambiguous argument .{1,100}unknown revision|did not match any|not in storage|no results"
    r"|ERR_FILE_NOT_FOUND|path does not point",
    r"找不到|未找到|没有找到|沒有找到|不存在|查無",
)

CRASH = any_of(
    r"cannot read propert(?:y|ies) (?:of|')|is not (?:a function|iterable|a constructor)|undefined is not"
    r"|(?:null|undefined) \(reading",
    r"\bunhashable type\b|<[\w.]{1,120}(?: object)? at 0x[0-9a-f]{4,20}>",
    r"'NoneType'|has no attribute|UnboundLocalError|AttributeError|NameError"
    r"|object is not (?:subscriptable|iterable|callable)|(?:local|free) variable|nil pointer"
    r"|runtime error:|not JSON serializable|unhandled exception|stack overflow|maximum recursion",
)

REFUSAL = any_of(
    r"\binvalid\b|\billegal\b|\bmust\b|\bshould (?:be|have)\b|\bcannot\b|\bcan't\b|\bexpected\b"
    r"|\brequired?s?\b|\bnot (?:allowed|supported|permitted|valid|an?|merged|empty)\b",
    r"\bunsupported\b|out of (?:range|bounds)|\bexceeds?\b|\btoo (?:long|large|short|small|many|few"
    r"|big)\b|\bat (?:least|most)\b|\bbetween\b|\bunknown\b|\bunrecogni[sz]ed\b",
    r"\bis not (?:currently |yet )?(?:running|connected|open|active|started)\b",
    r"\bmissing\b|\bempty\b|bad request|greater than|less than|is not (?:defined|callable)|\bE(?:ISDIR"
    r"|NOTDIR|NOTEMPTY|NAMETOOLONG|INVAL|ACCES|PERM)\b|mismatch|ambiguous",
    r"\bno \S{1,40}(?: \S{1,40})? (?:provided|given|specified|open|loaded|selected)|refus|\bden(?:y"
    r"|ied)\b|reject|\bfirst\b|only (?:\w+ )?(?:sheet|one)|\bnot (?:a|an) |expects?\b|ValueError"
    r"|TypeError|unique|malformed|错误|錯誤|无效|無效|必须|必須|不能为空|不能為空|不支持|不支援",
)

_STATUS = re.compile(
    r"(?:\bHttpError|\breceived(?: an?)?|\bHTTP(?:/[\d.]+)?(?: (?:status|error|code|response"
    r"|request)){0,3}|\bstatus(?:[ _-]?code)?"
    r"|\bstatusCode|\bcode|\berror|\breturned|\bresponse|\bfailed with)"
    r"[\s:=(\[\"'#-]{0,5}(?P<named>[45]\d\d)\b(?!\.\d)"
    r"|(?<![\d.])(?P<phrase>[45]\d\d)[\s:,)\]-]{1,3}(?:client error|server error|bad request|unauthori"
    r"|payment required|forbidden|not found|method not|not acceptable|conflict|gone\b|unprocessable"
    r"|too many|internal|bad gateway|service unav|gateway|validation failed)"
    r"|https?://\S{1,400}: (?P<after>[45]\d\d)\b|^\W{0,3}(?P<start>[45]\d\d)[ :]+[A-Z{]"
    r"|\b(?P<asked>[45]\d\d) (?:GET|POST|PUT|PATCH|DELETE|HEAD) https?:|\((?P<last>[45]\d\d)\)\W{0,3}$"
    r"|^\W{0,3}(?P<bare>[45]\d\d)\W{0,3}$",
    re.IGNORECASE,
)

_RPC_CODE = re.compile(r"\b(?:mcp|rpc|json-rpc) error:? (?:code )?(-3[23]\d{3})\b", re.IGNORECASE)


def http_status(text: str) -> int | None:
    """The first HTTP error status that the text gives as one."""
    found = _STATUS.search(text[:4000])
    return int(next(filter(None, found.groups()))) if found else None


def rpc_code(text: str) -> int | None:
    """The JSON-RPC error code that an SDK wrote into its text."""
    found = _RPC_CODE.search(text[:300])
    return int(found[1]) if found else None


_ERROR_FAMILIES = (ERROR_PREFIX, ERROR_SENTENCE, ERROR_CLAUSE, RATE_LIMIT, UNAUTHORIZED, TIMEOUT, OUTAGE)

ANY_ERROR = re.compile("|".join(family.pattern for family in _ERROR_FAMILIES), re.IGNORECASE)
"""Any sign of trouble, for texts that are a message to the reader and nothing else."""

_CAUSE_FAMILIES = (
    RATE_LIMIT,
    POLICY_REFUSAL,
    UNAUTHORIZED,
    NETWORK_DOWN,
    TIMEOUT,
    ENVIRONMENT,
    OUTAGE,
    ALREADY_EXISTS,
    MALFORMED_VALUE,
    CRASH,
)
ERROR_CAUSE = any_of(
    *(family.pattern for family in _CAUSE_FAMILIES),
    r"\bno such (?:container|image|object|key|service|process|bucket|device)|\bexpected \w+, received\b",
    r"\bis a directory\b|\bnot a directory\b|\btoo large\b|\bnot supported\b|\[rejected\]"
    r"|\bexpecting \w+|\bunterminated\b",
    r"\bdoes not match (?:the )?format|\bInvalid (?:input|data)\b|\bWRONGTYPE\b|\bout of credits\b"
    r"|\bhigher privileged\b",
)
"""What makes a failure of one short line, where the tool neither returns stored text nor searches it."""
