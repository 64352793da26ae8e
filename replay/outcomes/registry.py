"""Stage 2: does the tool exist in the fleet?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from pydantic import Field
from rapidfuzz import fuzz, process

from replay.records import Call, Judgement, Outcome, Reason, Record, Server
from replay.records.tool_name import ToolName, begins_with_server, is_joined_name, read_joined_name, read_name

REGISTRY_RULES: dict[str, tuple[str, str]] = {
    "registry.interrupted": ("The user refused the call, or it was aborted before it was done.", "Bash"),
    "registry.local-tool": ("The tool belongs to the harness; no MCP server has it.", "local-python-execute"),
    "registry.server-unavailable": ("The tool's server is in the fleet and did not start.", "maps/geocode"),
    "registry.list-incomplete": (
        "The tool is on no list, but a server's list was not read to its end, is not a list, or changed in mid-run.",
        "search/find",
    ),
    "registry.placeholder": ("The name is a placeholder copied from a prompt, not a tool.", "server/tool"),
    "registry.bare-name": ("The name lacks its server; exactly one server has such a tool.", "read_file"),
    "registry.other-server": ("The tool exists, but on another server.", "time/read_file"),
    "registry.misspelt": ("The tool does not exist; one with nearly the same name does.", "filesystem/raed_file"),
    "registry.no-such-tool": ("No server of the fleet has the tool.", "ocr/perform"),
    "registry.not-in-fleet": (
        "The fleet has no such tool, but the recorded answer shows that it ran: it was recorded on another fleet.",
        "pdf-tools/read_pdf",
    ),
}
"""Rule id -> what it says, and a name as an example."""

_LITERAL_PLACEHOLDER = re.compile(
    r"[<{\[(]?(?:mcp[_-]?)?server(?:[_-]?name)?[>}\])]?\s*(?:/|__|-|\.|:)\s*[<{\[(]?tool(?:[_-]?name)?[>}\])]?"
    r"|<[^<>]{1,40}>|\{[^{}]{1,40}\}|(?:tool|function)[_-]?name",
    re.IGNORECASE,
)
"""What no tool is called anywhere."""

_PLACEHOLDER = re.compile(
    rf"{_LITERAL_PLACEHOLDER.pattern}|(?:your|my|the|some|example)[_-](?:server|tool)\b.*|tool|function", re.IGNORECASE
)
"""What stands for a name where the fleet has no such tool."""

_PLACEHOLDER_MESSAGE = '"{name}" is a placeholder, not the name of a tool.'
_MAX_REMEMBERED_NAME = 200
"""Characters of a name whose reading is remembered: the few names of a run are read at each of its calls."""
_MIN_MISSPELT_SCORE, _MIN_NEAR_SCORE, _MAX_NAMES = 82.0, 60.0, 3


class NameIndex:
    """Names of tools, by what they look like."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.bare = [_bare(full) for full in names]
        self.folded_bare = [_fold(bare) for bare in self.bare]
        self._folded = [_fold(full) for full in names]

    def similar(self, tool: str, name: str) -> list[str]:
        """Names that look like a folded tool name, or like a folded name as written; nearest first."""
        scores: dict[int, float] = {}
        for wanted, choices in ((tool, self.folded_bare), (name, self._folded)):
            found = process.extract(wanted, choices, scorer=fuzz.ratio, score_cutoff=_MIN_NEAR_SCORE, limit=None)
            for _, score, place in found:
                scores[place] = max(score, scores.get(place, 0.0))
        return [self.names[place] for place in sorted(scores, key=lambda place: (-scores[place], self.names[place]))]


class Registry(Record):
    """What is known of the tools that exist."""

    servers: Mapping[str, Server] = Field(default_factory=dict)
    """Servers of the fleet by fleet name; their tools are known where they have a digest and no error."""
    unavailable: Mapping[str, str] = Field(default_factory=dict)
    """Servers that are in the fleet and did not start, and why in one line."""
    local_tools: tuple[str, ...] = ()
    """Glob patterns on the name as written: tools of the harness, which no MCP server has."""
    server_names: tuple[str, ...] = ()
    """All names in the fleet file, started or not."""
    complete: bool = False
    """Every server that the calls could mean is among these: a server that is not does not exist."""
    tools_complete: Callable[[str], bool] | None = None
    """Asks whether a server's list is all that it has, as of now; by default what its record says."""

    @cached_property
    def name_index(self) -> NameIndex:
        """The names of all tools that are known, made ready to be searched: a server may list a hundred thousand."""
        return NameIndex(tuple(self.tool_names()))

    @property
    def known(self) -> bool:
        """Whether any server's tools/list is known."""
        return any(map(has_tools_list, self.servers.values()))

    def lists_all(self, name: str) -> bool:
        """Whether a server's tools/list is all that it has: a tool that is not on it does not exist."""
        server = self.servers.get(name)
        complete = server is None or server.tools_complete
        return complete and (self.tools_complete is None or self.tools_complete(name))

    def is_local(self, name: str) -> bool:
        """Whether the name as written is one of the harness's own tools."""
        return any(fnmatchcase(name, pattern) for pattern in self.local_tools)

    def read(self, call: Call) -> ToolName:
        """The server and tool that a call names: as its reader knew, else as the fleet's names tell."""
        known, joined = self._all_servers, is_joined_name(call.name, call.server, call.tool)
        if call.server is not None and call.tool is not None and (call.server in known or not (known or joined)):
            return ToolName(call.server, call.tool)
        name = call.name or ""
        read = _read_short_name if len(name) <= _MAX_REMEMBERED_NAME else _read_name
        return read(name, self._all_servers, joined)

    @cached_property
    def _all_servers(self) -> frozenset[str]:
        return frozenset((*self.server_names, *self.servers, *self.unavailable))

    def writes_the_case_of(self, call: Call) -> bool:
        """Whether the call writes its server's name in the fleet's own case; `-` and `_` stand for each other."""
        server = self.read(call).server
        return server is None or call.server == server or _begins_with(call.name or "", server)

    def tool_names(self) -> list[str]:
        """`server/tool` of all tools that are known."""
        return [
            f"{name}/{tool.name}"
            for name, server in sorted(self.servers.items())
            if has_tools_list(server)
            for tool in server.tools
        ]


def _read_name(name: str, servers: frozenset[str], joined: bool) -> ToolName:
    return (read_joined_name(name, servers) if joined else None) or read_name(name, servers)


_read_short_name = lru_cache(maxsize=4096)(_read_name)


def _begins_with(name: str, server: str) -> bool:
    begins = _short_name_begins_with if len(name) <= _MAX_REMEMBERED_NAME else begins_with_server
    return begins(name, server)


_short_name_begins_with = lru_cache(maxsize=4096)(begins_with_server)


def has_tools_list(server: Server) -> bool:
    """Whether the server answered tools/list."""
    return server.error is None and server.digest is not None


def judge_registry(call: Call, registry: Registry, recorded: Judgement | None = None) -> Judgement | None:
    """Judge whether the tool exists; None where it does, or where nothing is known of its server's tools.

    Args:
        call: whose format was found good.
        registry: the tools that are known.
        recorded: what the call's recorded answer says; one that a tool gave shows that the tool did exist.
    """
    if call.name is None:
        return None
    if call.interrupted or call.local or registry.is_local(call.name):
        return _judge_by_harness(call, call.name, put_aside=registry.is_local(call.name))
    server_name, tool = registry.read(call)
    if server_name is not None and server_name in registry.unavailable:
        message = f"Server {server_name} did not start: {registry.unavailable[server_name]}"
        return _inconclusive("registry.server-unavailable", message, Reason.SERVER_UNAVAILABLE)
    server = registry.servers.get(server_name) if server_name is not None else None
    exists = server is not None and has_tools_list(server) and server.tool(tool) is not None
    ran = _ran_when_recorded(call, recorded)
    if exists and not registry.writes_the_case_of(call) and not ran:
        near = nearest_tools(call.name, tool, registry)
        message = f'No server of the fleet has a tool "{call.name}": names are compared with their case'
        return _unknown_tool("registry.misspelt", f"{message}; nearest: {', '.join(near)}.", near)
    tools_unknown = not has_tools_list(server) if server is not None else server_name in registry.server_names
    if exists or tools_unknown:
        return None
    return _judge_missing(call, call.name, registry, ran=ran)


def _judge_by_harness(call: Call, name: str, *, put_aside: bool) -> Judgement | None:
    """Judge a call that the harness ran itself, or did not let run to its end.

    One of an agent's own tools is on no list: None, since its recorded answer tells, also that there is no such tool.
    """
    if call.interrupted:
        message = f"{name} was refused by the user, or aborted before it was done."
        return _inconclusive("registry.interrupted", message, Reason.INTERRUPTED)
    if not put_aside:
        return None
    message = f"{name} is a tool of the harness; no MCP server has it."
    return _inconclusive("registry.local-tool", message, Reason.LOCAL_TOOL)


def _list_incomplete(name: str, server: str) -> Judgement:
    message = (
        f"Whether there is a tool {name} is not known: tools/list of {server} was not read to its end, or changed."
    )
    return _inconclusive("registry.list-incomplete", message, Reason.SERVER_FAULT)


def _judge_without_lists(name: str, *, ran: bool) -> Judgement | None:
    """Judge a name where no tools/list is known: a placeholder needs none, unless the recording shows that it ran."""
    if _LITERAL_PLACEHOLDER.fullmatch(name.strip()) is None or ran:
        return None
    return _unknown_tool("registry.placeholder", _PLACEHOLDER_MESSAGE.format(name=name), ())


def _judge_missing(call: Call, name: str, registry: Registry, *, ran: bool) -> Judgement | None:
    """Judge a call to a tool that no tools/list holds."""
    if not (registry.known or registry.complete):
        return _judge_without_lists(name, ran=ran)
    server, tool = registry.read(call)
    if ran:
        near = nearest_tools(name, tool, registry)[:1]
        hint = f"; the fleet has {near[0]}" if near else ""
        message = f"No server of this fleet has {name}, but the recorded answer shows that it ran{hint}."
        return _inconclusive("registry.not-in-fleet", message, Reason.NOT_IN_FLEET)
    partial = next((one for one in registry.servers if server in (one, None) and not registry.lists_all(one)), None)
    if partial is not None:
        return None if call.answer is not None else _list_incomplete(name, partial)
    return _explain_unknown(name, server, tool, registry, known_server=server in registry.servers)


def nearest_tools(name: str, tool: str, registry: Registry) -> tuple[str, ...]:
    """Names that exist and come nearest, best first: the same tool name before similar ones."""
    index = registry.name_index
    wanted = (_fold(tool), _fold(name))
    same = [full for full, bare in zip(index.names, index.bare, strict=True) if bare in (tool, name)]
    known = set(same)
    folded = [
        full
        for full, bare in zip(index.names, index.folded_bare, strict=True)
        if (bare in wanted or wanted[1].endswith(f"_{bare}")) and full not in known
    ]
    known.update(folded)
    same, folded = (sorted(found, key=lambda full: _fold(full) != wanted[1]) for found in (same, folded))
    similar = [full for full in index.similar(*wanted) if full not in known]
    return tuple([*same, *folded, *similar][:_MAX_NAMES])


def _explain_unknown(name: str, server: str | None, tool: str, registry: Registry, *, known_server: bool) -> Judgement:
    near = nearest_tools(name, tool, registry)
    message = f'Server {server} has no tool "{tool}"' if known_server else f'No server of the fleet has a tool "{name}"'
    hint = f"; nearest: {', '.join(near)}" if near else ""
    if _PLACEHOLDER.fullmatch(name.strip()):
        return _unknown_tool("registry.placeholder", _PLACEHOLDER_MESSAGE.format(name=name), ())
    holders = [full for full in registry.tool_names() if _bare(full) in (tool, name)]
    bare = tool if server is None else name
    if holders and (server is None or not known_server) and _bare(holders[0]) in (name, bare) and len(holders) == 1:
        return _unknown_tool(
            "registry.bare-name", f'"{name}" lacks its server; {holders[0]} is the only tool of that name.', near
        )
    if holders:
        return _unknown_tool("registry.other-server", f"{message}; {', '.join(holders[:3])} exists.", near)
    if near and _closeness(near[0], name, tool) >= _MIN_MISSPELT_SCORE:
        return _unknown_tool("registry.misspelt", f"{message}{hint}.", near)
    return _unknown_tool("registry.no-such-tool", f"{message}{hint}.", near)


def _closeness(full: str, name: str, tool: str) -> float:
    return max(fuzz.ratio(_fold(_bare(full)), _fold(tool)), fuzz.ratio(_fold(full), _fold(name)))


def _ran_when_recorded(call: Call, recorded: Judgement | None) -> bool:
    """Whether the recorded answer is one that a tool gave, be it an error of its own."""
    if recorded is None or call.answer is None or call.answer.kind == "fault":
        return False
    empty = recorded.rule == "success.empty" and recorded.certainty != "certain"
    says_nothing = empty or recorded.rule in ("answer.error", "answer.says-why", "harness.no-cause")
    return recorded.outcome not in (Outcome.UNKNOWN_TOOL, Outcome.ILLEGAL_FORMAT) and not says_nothing


def _bare(full: str) -> str:
    return full.partition("/")[2]


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold())


def _unknown_tool(rule: str, message: str, nearest: tuple[str, ...]) -> Judgement:
    return Judgement(outcome=Outcome.UNKNOWN_TOOL, rule=rule, evidence="registry", message=message, nearest=nearest)


def _inconclusive(rule: str, message: str, reason: Reason) -> Judgement:
    return Judgement(outcome=Outcome.INCONCLUSIVE, reason=reason, rule=rule, evidence="registry", message=message)
