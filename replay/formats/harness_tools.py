"""Tools that a harness has of its own, so that no MCP server is asked for them."""

from __future__ import annotations

ADK = frozenset({
    "adk_request_confirmation", "adk_request_credential", "adk_request_input", "exit_loop", "get_user_choice",
    "google_search", "load_artifacts", "load_memory", "set_model_response", "transfer_to_agent",
    "transfer_to_other_agent", "url_context", "vertex_ai_search",
})  # fmt: skip
"""Google's Agent Development Kit."""

INSPECT = frozenset({
    "bash", "bash_session", "code_execution", "computer", "memory", "python", "skill", "submit", "text_editor",
    "think", "update_plan", "web_browser_back", "web_browser_click", "web_browser_forward", "web_browser_go",
    "web_browser_refresh", "web_browser_scroll", "web_browser_type", "web_browser_type_submit", "web_search",
})  # fmt: skip
"""The standard tools of Inspect, and the `submit` of its agents."""

_BY_AGENT: dict[str, frozenset[str] | None] = {
    "terminus": None,
    "claude-code": None,
    "openhands": frozenset({
        "browser", "execute_bash", "execute_ipython_cell", "file_editor", "finish", "str_replace_editor",
        "task_tracker", "terminal", "think",
    }),
    "codex": frozenset({
        "apply_patch", "exec_command", "shell", "update_plan", "view_image", "web_search", "write_stdin",
    }),
    "gemini-cli": frozenset({
        "glob", "google_web_search", "list_directory", "read_file", "read_many_files", "replace", "run_shell_command",
        "save_memory", "search_file_content", "web_fetch", "write_file", "write_todos",
    }),
}  # fmt: skip
"""By the beginning of an agent's name; None: all its tools that name no MCP server are its own."""


def is_own_tool(agent: str, tool: str) -> bool:
    """Whether a tool without a server is built into one of the coding agents whose trajectories Harbor writes."""
    name = agent.casefold().replace("_", "-").replace(" ", "-")
    tools = next((tools for prefix, tools in _BY_AGENT.items() if name.startswith(prefix)), frozenset())
    return tools is None or tool in tools
