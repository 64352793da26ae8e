"""What the servers of a recording sent about themselves: identity and tools/list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from replay.recorder.recording import DEFAULT_SERVER_NAME
from replay.records import Server, Tool, digest_of

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


@dataclass
class _ServerDraft:
    identity: dict[str, Any] = field(default_factory=dict)
    protocol: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    listed: bool = False


class ServerMetadata:
    """Collects identities and tools/list answers from the events of a journal."""

    def __init__(self) -> None:
        self._drafts: dict[str | None, _ServerDraft] = {}
        self._complete: dict[str, Server] = {}

    def apply_event(self, entry: dict[str, Any]) -> None:
        """Take one journal entry; those of other kinds are passed over."""
        event, message, name = entry.get("event"), entry.get("message"), entry.get("server")
        if event == "server":
            server = Server.model_validate(message)
            self._complete[server.name] = server
            return
        result = message.get("result") if isinstance(message, dict) else None
        if not isinstance(result, dict):
            return
        if event == "identity":
            _apply_identity(self._drafts.setdefault(name, _ServerDraft()), result, entry.get("protocol"))
        elif event == "tools":
            _apply_tools(self._drafts.setdefault(name, _ServerDraft()), result, bool(entry.get("first")))

    def servers(self) -> tuple[Server, ...]:
        """All servers of the journal, those recorded as a whole first."""
        return (*self._complete.values(), *(_server(name, draft) for name, draft in self._drafts.items()))

    def only_name(self) -> str | None:
        """The server's name where there is only one."""
        servers = self.servers()
        return servers[0].name if len(servers) == 1 and not self._complete else None


def _apply_identity(draft: _ServerDraft, result: dict[str, Any], protocol: str | None) -> None:
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
    draft.identity = info if isinstance(info, dict) else {}
    protocol_version = result.get("protocolVersion")
    draft.protocol = protocol_version if isinstance(protocol_version, str) else protocol


def _apply_tools(draft: _ServerDraft, result: dict[str, Any], first_page: bool) -> None:
    if first_page:
        draft.tools.clear()
    listed = result.get("tools")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            draft.tools[entry["name"]] = _tool(entry)
    draft.listed = True


def _tool(entry: dict[str, Any]) -> Tool:
    description, annotations = entry.get("description"), entry.get("annotations")
    return Tool(
        name=entry["name"],
        description=description if isinstance(description, str) else None,
        input_schema=entry.get("inputSchema"),
        output_schema=entry.get("outputSchema"),
        annotations=annotations if isinstance(annotations, dict) else None,
    )


def _server(name: str | None, draft: _ServerDraft) -> Server:
    title, version = _text(draft.identity.get("name")), _text(draft.identity.get("version"))
    tools = tuple(draft.tools.values())
    return Server(
        name=name or title or DEFAULT_SERVER_NAME,
        title=title,
        version=version,
        protocol=draft.protocol,
        tools=tools,
        digest=digest_of(title, version, tools) if draft.listed else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
