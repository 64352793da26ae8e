"""The protocol versions that are spoken, and the keys of a request's envelope (specification of 2026-07-28).

The SDK has the same values, and takes longer to import than all else that a replay needs; a test holds them equal.
"""

from __future__ import annotations

from typing import Final

HANDSHAKE_PROTOCOL_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Agreed on by `initialize`, oldest first."""
MODERN_PROTOCOL_VERSIONS: Final = ("2026-07-28",)
"""Found by `server/discover`; each request carries its own envelope. Oldest first."""
LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_PROTOCOL_VERSIONS[-1]
LATEST_MODERN_VERSION: Final = MODERN_PROTOCOL_VERSIONS[-1]

PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"

UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
"""The code of the JSON-RPC error that names the versions a server does speak."""
