"""What the servers of a recording said of themselves: identity and tools/list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from replay.recorder.recording import NAMELESS
from replay.records import Server, Tool, digest_of

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


@dataclass
class _Draft:
    identity: dict[str, Any] = field(default_factory=dict)
    protocol: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    listed: bool = False


class Introductions:
    """Collects the introductions of a journal."""

    def __init__(self) -> None:
        self._drafts: dict[str | None, _Draft] = {}
        self._whole: dict[str, Server] = {}

    def hear(self, entry: dict[str, Any]) -> None:
        """Take one journal entry; those of other kinds are passed over."""
        event, message, name = entry.get("event"), entry.get("message"), entry.get("server")
        if event == "server":
            server = Server.model_validate(message)
            self._whole[server.name] = server
            return
        result = message.get("result") if isinstance(message, dict) else None
        if not isinstance(result, dict):
            return
        if event == "identity":
            _introduce(self._drafts.setdefault(name, _Draft()), result, entry.get("protocol"))
        elif event == "tools":
            _list(self._drafts.setdefault(name, _Draft()), result, bool(entry.get("first")))

    def servers(self) -> tuple[Server, ...]:
        """All that introduced themselves."""
        return (*self._whole.values(), *(_server(name, draft) for name, draft in self._drafts.items()))

    def only_name(self) -> str | None:
        """The server's name where there is but one."""
        servers = self.servers()
        return servers[0].name if len(servers) == 1 and not self._whole else None


def _introduce(draft: _Draft, result: dict[str, Any], protocol: str | None) -> None:
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
    draft.identity = info if isinstance(info, dict) else {}
    said = result.get("protocolVersion")
    draft.protocol = said if isinstance(said, str) else protocol


def _list(draft: _Draft, result: dict[str, Any], first_page: bool) -> None:
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


def _server(name: str | None, draft: _Draft) -> Server:
    title, version = _text(draft.identity.get("name")), _text(draft.identity.get("version"))
    tools = tuple(draft.tools.values())
    return Server(
        name=name or title or NAMELESS,
        title=title,
        version=version,
        protocol=draft.protocol,
        tools=tools,
        digest=digest_of(title, version, tools) if draft.listed else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
