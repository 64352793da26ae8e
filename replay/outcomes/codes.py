"""Codes that the world has agreed on, in place of phrases: what each says of a failed call, and so whose fault it is.

Each table names its source. A row is a cause and its codes; a cause is a key of `CAUSES`. Codes that are also plain
words (`Forbidden`, `Timeout`) count only in a field of their own or in brackets, as their systems write them.
"""

from __future__ import annotations

import errno
import re
from typing import Any, Final, NamedTuple

CAUSES: Final[dict[str, str]] = {
    "unauthorized": "the environment: credentials are missing, wrong or not enough",
    "rate-limited": "the environment: too much was asked",
    "network": "the environment: a host cannot be resolved or reached",
    "timeout": "the environment: somebody waited in vain",
    "outage": "the environment: a backend failed",
    "environment": "the environment: something the server needs is missing, full or broken",
    "cancelled": "the environment: somebody ended the call",
    "session-lost": "the environment: the session or the transport is gone",
    "missing": "the model, or nobody: what was asked for is not there",
    "exists": "the model: what the call would make is there already",
    "invalid": "the model: the arguments do not fit",
    "denied": "the model where it named the thing, else the environment: the system denies access",
    "tool-unknown": "the model: there is no such tool",
}
"""A cause -> whose fault it is, and why."""


class CodeTable(NamedTuple):
    """The codes of one system."""

    name: str
    source: str
    """Where the system says what they mean."""
    rows: dict[str, str]
    """A cause -> its codes, with spaces between them."""
    plain: bool = False
    """Whether the codes are words that a sentence may hold as well."""


CODE_TABLES: Final[tuple[CodeTable, ...]] = (
    CodeTable(
        "errno",
        "POSIX.1-2017, errno.h; Node.js documentation, Common system errors",
        {
            "missing": "ENOENT ESRCH ENODEV ENXIO",
            "denied": "EACCES EPERM EROFS",
            "exists": "EEXIST",
            "invalid": "EISDIR ENOTDIR ENOTEMPTY ENAMETOOLONG EINVAL EDOM ERANGE E2BIG EFBIG ELOOP EXDEV EILSEQ",
            "network": "ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NONAME ECONNREFUSED ECONNRESET ECONNABORTED EHOSTUNREACH"
            " ENETUNREACH ENETDOWN EHOSTDOWN EPIPE EPROTO EADDRNOTAVAIL ENOTCONN ESHUTDOWN",
            "timeout": "ETIMEDOUT ESOCKETTIMEDOUT ETIME",
            "environment": "ENOSPC ENOMEM EMFILE ENFILE EIO EBUSY EDQUOT ENOEXEC ETXTBSY ENOSYS EADDRINUSE",
        },
    ),
    CodeTable(
        "gRPC",
        "grpc.io, Status codes and their use in gRPC",
        {
            "missing": "NOT_FOUND",
            "invalid": "INVALID_ARGUMENT OUT_OF_RANGE FAILED_PRECONDITION",
            "exists": "ALREADY_EXISTS",
            "unauthorized": "PERMISSION_DENIED UNAUTHENTICATED",
            "rate-limited": "RESOURCE_EXHAUSTED",
            "timeout": "DEADLINE_EXCEEDED",
            "outage": "UNAVAILABLE DATA_LOSS UNIMPLEMENTED",
        },
    ),
    CodeTable(
        "DNS",
        "RFC 1035, RFC 2136; the resolvers c-ares and glibc",
        {
            "missing": "ENODATA ENONAME",
            "network": "NXDOMAIN SERVFAIL ESERVFAIL EREFUSED EAI_NODATA ERR_NAME_NOT_RESOLVED",
            "timeout": "ETIMEOUT",
        },
    ),
    CodeTable(
        "AWS",
        "AWS API references, Common Errors",
        {
            "missing": "NoSuchKey NoSuchBucket NoSuchEntity NoSuchUpload ResourceNotFoundException NotFoundException"
            " DBInstanceNotFound InvalidInstanceID.NotFound TableNotFoundException",
            "unauthorized": "AccessDenied AccessDeniedException UnauthorizedOperation InvalidClientTokenId ExpiredToken"
            " ExpiredTokenException UnrecognizedClientException SignatureDoesNotMatch InvalidAccessKeyId"
            " MissingAuthenticationToken OptInRequired AuthFailure",
            "rate-limited": "ThrottlingException RequestLimitExceeded ProvisionedThroughputExceededException"
            " TooManyRequestsException LimitExceededException ServiceQuotaExceededException SlowDown",
            "invalid": "ValidationException InvalidParameterValue InvalidParameterCombination InvalidParameterException"
            " MalformedPolicyDocument InvalidBucketName MissingParameter InvalidInput InvalidRequestException",
            "exists": "EntityAlreadyExists BucketAlreadyExists BucketAlreadyOwnedByYou ResourceInUseException"
            " ResourceAlreadyExistsException ConflictException",
            "outage": "InternalFailure ServiceUnavailableException InternalServerException InternalServiceError",
        },
    ),
    CodeTable(
        "Azure",
        "Azure Resource Manager, Common deployment errors; Storage REST API error codes",
        {
            "missing": "ResourceNotFound ResourceGroupNotFound BlobNotFound ContainerNotFound SubscriptionNotFound"
            " ParentResourceNotFound",
            "unauthorized": "AuthorizationFailed AuthenticationFailed InvalidAuthenticationToken",
            "rate-limited": "OperationNotAllowed.Quota QuotaExceeded SubscriptionRequestsThrottled",
            "invalid": "InvalidTemplate InvalidRequestContent InvalidResourceReference InvalidApiVersionParameter"
            " InvalidParameter",
            "exists": "ResourceExists BlobAlreadyExists ContainerAlreadyExists StorageAccountAlreadyTaken",
            "outage": "ServerBusy InternalServerError",
        },
    ),
    CodeTable(
        "Google",
        "Google APIs, Standard error responses; Maps Platform status codes",
        {
            "missing": "ZERO_RESULTS notFound",
            "unauthorized": "REQUEST_DENIED accessNotConfigured authError insufficientPermissions",
            "rate-limited": "OVER_QUERY_LIMIT OVER_DAILY_LIMIT rateLimitExceeded userRateLimitExceeded quotaExceeded"
            " dailyLimitExceeded",
            "invalid": "INVALID_REQUEST badRequest invalidParameter",
            "outage": "backendError UNKNOWN_ERROR",
        },
    ),
    CodeTable(
        "web APIs",
        "Error code references of Slack, Notion, Stripe, OpenAI; RFC 6749 section 5.2",
        {
            "missing": "channel_not_found user_not_found object_not_found resource_missing model_not_found"
            " message_not_found file_not_found",
            "unauthorized": "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope"
            " invalid_api_key invalid_grant invalid_client invalid_token insufficient_scope restricted_resource"
            " unauthorized_client access_denied",
            "rate-limited": "ratelimited rate_limited rate_limit_exceeded insufficient_quota",
            "invalid": "invalid_request_error parameter_missing parameter_invalid_empty context_length_exceeded"
            " invalid_blocks no_text invalid_json invalid_request_url not_in_channel is_archived",
            "exists": "name_taken already_in_channel already_reacted conflict_error",
            "outage": "internal_server_error service_unavailable overloaded_error",
        },
    ),
    CodeTable(
        "databases",
        "MySQL error reference; SQLite result codes; MongoDB error codes; Elasticsearch and Redis documentation",
        {
            "missing": "ER_NO_SUCH_TABLE ER_BAD_DB_ERROR NamespaceNotFound IndexNotFound index_not_found_exception",
            "invalid": "ER_PARSE_ERROR ER_BAD_FIELD_ERROR SQLITE_CONSTRAINT SQLITE_MISMATCH SQLITE_READONLY BadValue"
            " FailedToParse TypeMismatch parsing_exception x_content_parse_exception query_shard_exception WRONGTYPE",
            "exists": "ER_DUP_ENTRY DuplicateKey NamespaceExists resource_already_exists_exception",
            "unauthorized": "ER_ACCESS_DENIED_ERROR SQLITE_AUTH NOAUTH NOPERM security_exception",
            "environment": "SQLITE_BUSY SQLITE_LOCKED SQLITE_CANTOPEN SQLITE_FULL SQLITE_CORRUPT SQLITE_IOERR",
            "network": "HostUnreachable NetworkTimeout CR_CONNECTION_ERROR CLUSTERDOWN MASTERDOWN",
            "outage": "ER_CON_COUNT_ERROR circuit_breaking_exception",
        },
    ),
    CodeTable(
        "database drivers",
        "Oracle Database error messages; SQL Server Database Engine errors; MongoDB (E11000); CQL",
        {
            "missing": "ORA-00942 ORA-04043 ORA-02289",
            "invalid": "ORA-00904 ORA-00933 ORA-00936 ORA-01722 ORA-01400 ORA-06550",
            "exists": "ORA-00001 ORA-00955 E11000",
            "unauthorized": "ORA-01017 ORA-01031 ORA-28000",
            "network": "ORA-12154 ORA-12514 ORA-12541 ORA-03113 ORA-03114",
            "timeout": "ORA-12170 OperationTimedOut ReadTimeout WriteTimeout",
            "environment": "ORA-01653 ORA-00257",
        },
    ),
    CodeTable(
        "npm",
        "npm documentation, Common errors; npm registry API",
        {
            "missing": "E404 ETARGET ENOVERSIONS",
            "unauthorized": "E401 E403 ENEEDAUTH EOTP",
            "rate-limited": "E429",
            "invalid": "ERESOLVE EUSAGE EJSONPARSE EINVALIDTAGNAME EINVALIDPACKAGENAME EUNSUPPORTEDPROTOCOL",
            "network": "ERR_SOCKET_TIMEOUT FETCH_ERROR FetchError",
            "outage": "E500 E502 E503",
            "environment": "EBADENGINE EBADPLATFORM EINTEGRITY",
        },
    ),
    CodeTable(
        "PowerShell and .NET",
        "PowerShell documentation, ErrorRecord categories and identifiers; .NET System exceptions",
        {
            "missing": "ItemNotFoundException PathNotFound DirectoryNotFoundException FileNotFoundException",
            "invalid": "ParameterBindingException NamedParameterNotFound MissingMandatoryParameter ParserError"
            " ArgumentException ArgumentNullException FormatException",
            "denied": "UnauthorizedAccessException",
            "environment": "PSSecurityException",
        },
    ),
    CodeTable(
        "TLS of Windows",
        "Microsoft, COM error codes (Security and Setup), SEC_E",
        {
            "network": "SEC_E_MESSAGE_ALTERED SEC_E_ILLEGAL_MESSAGE SEC_E_DECRYPT_FAILURE CRYPT_E_NO_REVOCATION_CHECK"
            " CRYPT_E_REVOCATION_OFFLINE SEC_E_UNTRUSTED_ROOT SEC_E_CERT_EXPIRED",
        },
    ),
    CodeTable(
        "Kubernetes",
        "k8s.io/apimachinery, metav1.StatusReason; status codes of Go's gRPC",
        {
            "missing": "NotFound Gone Expired",
            "exists": "AlreadyExists Conflict",
            "invalid": "Invalid InvalidArgument OutOfRange FailedPrecondition BadRequest"
            " MethodNotAllowed NotAcceptable RequestEntityTooLarge UnsupportedMediaType",
            "unauthorized": "Forbidden Unauthorized PermissionDenied Unauthenticated",
            "rate-limited": "TooManyRequests ResourceExhausted",
            "timeout": "Timeout ServerTimeout DeadlineExceeded",
            "environment": "ImagePullBackOff ErrImagePull CrashLoopBackOff OOMKilled Evicted",
            "outage": "Unavailable InternalError ServiceUnavailable StoreReadError",
        },
        plain=True,
    ),
)

HTTP: Final[dict[int, str]] = {
    401: "unauthorized",
    402: "rate-limited",
    403: "unauthorized",
    404: "missing",
    407: "unauthorized",
    408: "timeout",
    410: "missing",
    423: "environment",
    429: "rate-limited",
    451: "unauthorized",
    504: "timeout",
    511: "unauthorized",
    522: "timeout",
    524: "timeout",
    529: "outage",
}
"""RFC 9110, section 15; 520 to 529 are Cloudflare's. Other 4xx are `invalid`, other 5xx `outage`."""

JSON_RPC: Final[dict[int, str]] = {
    -32000: "session-lost",
    -32001: "timeout",
    -32002: "missing",
    -32042: "unauthorized",
    -32601: "tool-unknown",
    -32602: "invalid",
    -32800: "cancelled",
}
"""JSON-RPC 2.0 section 5.1; MCP specification; LSP for -32800. -32603 and -32600 say nothing of whose fault it is."""

SQLSTATE: Final[dict[str, str]] = {
    "08": "network",
    "0A": "invalid",
    "21": "invalid",
    "22": "invalid",
    "23": "invalid",
    "25": "invalid",
    "26": "invalid",
    "28": "unauthorized",
    "34": "missing",
    "3D": "missing",
    "3F": "missing",
    "40": "outage",
    "42": "invalid",
    "42501": "unauthorized",
    "42P01": "missing",
    "42S02": "missing",
    "53": "environment",
    "54": "invalid",
    "55": "outage",
    "57": "outage",
    "57014": "timeout",
    "58": "environment",
    "F0": "environment",
    "HY": "outage",
    "XX": "outage",
}
"""ISO/IEC 9075 and PostgreSQL Appendix A: a class, or a whole code where it differs from its class."""

SMTP: Final[dict[str, str]] = {
    "4": "outage",
    "5.1": "missing",
    "5.2": "outage",
    "5.3": "outage",
    "5.4": "network",
    "5.5": "invalid",
    "5.6": "invalid",
    "5.7": "unauthorized",
}
"""RFC 3463, enhanced status codes: class, or class and subject."""

EXIT_CODES: Final[dict[int, str]] = {
    124: "timeout",
    126: "environment",
    127: "environment",
    130: "cancelled",
    137: "environment",
    143: "cancelled",
    9009: "environment",
}
"""POSIX Shell, 2.8.2; GNU timeout (124); cmd.exe (9009). 128+n is signal n: 137 is a kill, mostly for want of memory.
"""

CURL: Final[dict[int, str]] = {
    3: "invalid",
    5: "network",
    6: "network",
    7: "network",
    16: "network",
    28: "timeout",
    35: "network",
    37: "missing",
    52: "network",
    55: "network",
    56: "network",
    60: "network",
    65: "network",
    67: "unauthorized",
    78: "missing",
    92: "network",
    97: "network",
}
"""curl manual, EXIT CODES; git writes them too (`RPC failed; curl 56`)."""

_SQLSTATE: Final = re.compile(
    r"\b(?:SQLSTATE|sqlstate|pgcode|SQL state)\W{1,4}([0-9A-Z]{5})\b|\b\d{4,6} \(([0-9A-Z]{5})\):"
)
_CURL: Final = re.compile(r"\bcurl:? \(?(\d{1,2})\)? ")
_ERRNO: Final = re.compile(r"\[Errno (-?\d{1,3})\]|\(os error (\d{1,3})\)", re.IGNORECASE)
_SMTP: Final = re.compile(r"(?<![\d.])[45]\d\d[ -]#?([45])\.(\d{1,3})\.\d{1,3}(?![\d.])")
_TOKEN: Final = re.compile(r"ORA-\d{5}|[A-Za-z][A-Za-z0-9_.]{3,60}")
_PLAIN_TOKEN: Final = re.compile(
    r"(?:\(|\breason\W{1,4}|\bcode\W{1,4}|^Error )([A-Z][A-Za-z]{3,24})(?:\):|[\"',)]| desc\b)"
)
_STATUS: Final = re.compile(
    r"(?:\bHttpError|\breceived(?: an?)?|\bHTTP(?:/[\d.]+)?(?: (?:status|error|code|response|request)){0,3}"
    r"|\bstatus(?:[ _-]?code)?|\bstatusCode|\bcode|\berror|\breturned|\bresponse|\bfailed with)"
    r"[\s:=(\[\"'#-]{0,5}(?P<named>[45]\d\d)\b(?!\.\d)"
    r"|(?<![\d.])(?P<phrase>[45]\d\d)[\s:,)\]-]{1,3}(?:client error|server error|bad request|unauthori"
    r"|payment required|forbidden|not found|method not|not acceptable|conflict|gone\b|unprocessable"
    r"|too many|internal|bad gateway|service unav|gateway|validation failed)"
    r"|https?://\S{1,400}: (?P<after>[45]\d\d)\b|^\W{0,3}(?P<start>[45]\d\d)[ :]+[A-Z{]"
    r"|\b(?P<asked>[45]\d\d) (?:GET|POST|PUT|PATCH|DELETE|HEAD) https?:|\((?P<last>[45]\d\d)\)\W{0,3}$"
    r"|^\W{0,3}(?P<bare>[45]\d\d)\W{0,3}$",
    re.IGNORECASE,
)
_RPC_CODE: Final = re.compile(
    r"\b(?:mcp|rpc|json-rpc) error:? (?:code )?\(?(-3[23]\d{3})\b|\bcode\W{1,4}(-32[0-9]{3})\b", re.IGNORECASE
)
_MAX_TEXT: Final = 4000


def _bare_codes() -> dict[str, str]:
    return {
        code: cause
        for table in CODE_TABLES
        if not table.plain
        for cause, codes in table.rows.items()
        for code in codes.split()
    }


_CODES: Final = _bare_codes()
_PLAIN: Final = {
    code: cause for table in CODE_TABLES if table.plain for cause, codes in table.rows.items() for code in codes.split()
}


def http_status(text: str) -> int | None:
    """The first HTTP error status that a text gives as one."""
    match = _STATUS.search(text[:_MAX_TEXT])
    return int(next(filter(None, match.groups()))) if match else None


def rpc_code(text: str) -> int | None:
    """The JSON-RPC error code that an SDK wrote into its text."""
    match = _RPC_CODE.search(text[:600])
    return int(match[1] or match[2]) if match else None


def cause_of_status(status: int | None) -> str | None:
    """What an HTTP status says."""
    if status is None or not 400 <= status < 600:
        return None
    return HTTP.get(status, "invalid" if status < 500 else "outage")


def causes_in(text: str) -> frozenset[str]:
    """What the codes in the text of an error say, HTTP and JSON-RPC aside."""
    text = text[:_MAX_TEXT]
    causes = {_CODES[token] for token in map(_trimmed, _TOKEN.findall(text)) if token in _CODES}
    causes.update(_PLAIN[token] for token in _PLAIN_TOKEN.findall(text) if token in _PLAIN)
    state = _SQLSTATE.search(text)
    if state is not None:
        written = state[1] or state[2]
        causes.update(filter(None, [SQLSTATE.get(written) or SQLSTATE.get(written[:2])]))
    number = _ERRNO.search(text)
    if number is not None:  # Python and Rust write the number; negative ones are the resolver's
        written = number[1] or number[2]
        name = errno.errorcode.get(int(written), "EAI_FAIL" if written.startswith("-") else "")
        causes.update(filter(None, [_CODES.get(name)]))
    transfer = _CURL.search(text)
    if transfer is not None:
        causes.update(filter(None, [CURL.get(int(transfer[1]))]))
    mail = _SMTP.search(text)
    if mail is not None:
        causes.update(filter(None, [SMTP.get(f"{mail[1]}.{mail[2]}") or SMTP.get(mail[1])]))
    return frozenset(causes)


def cause_of_exit(code: int) -> str | None:
    """What the exit code of a shell says, where it says anything but that the program failed."""
    return EXIT_CODES.get(code)


def code_rows() -> list[tuple[str, str, str, str]]:
    """All tables as rows for the documentation: system, source, cause, codes."""
    rows = [(table.name, table.source, cause, codes) for table in CODE_TABLES for cause, codes in table.rows.items()]
    numbers: tuple[tuple[str, str, dict[Any, str]], ...] = (
        ("HTTP", "RFC 9110, section 15", HTTP),
        ("JSON-RPC and MCP", "JSON-RPC 2.0, section 5.1; MCP specification", JSON_RPC),
        ("SQLSTATE", "ISO/IEC 9075; PostgreSQL, Appendix A", SQLSTATE),
        ("SMTP", "RFC 3463", SMTP),
        ("exit codes", "POSIX Shell, 2.8.2", EXIT_CODES),
        ("curl", "curl manual, EXIT CODES", CURL),
    )
    for name, source, table in numbers:
        by_cause: dict[str, list[str]] = {}
        for code, cause in table.items():
            by_cause.setdefault(cause, []).append(str(code))
        rows += [(name, source, cause, " ".join(codes)) for cause, codes in by_cause.items()]
    return rows


def _trimmed(token: str) -> str:
    return token.rstrip(".")
