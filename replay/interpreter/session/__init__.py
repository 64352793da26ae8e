"""One server's session: its process or URL, the JSON-RPC messages, the handshake, the tools, restarts."""
