"""Tools that a harness has of its own, so that no MCP server is asked for them."""

from __future__ import annotations

ADK = frozenset(
    {
        "transfer_to_agent",
        "transfer_to_other_agent",
        "adk_request_credential",
        "adk_request_confirmation",
        "adk_request_input",
        "exit_loop",
        "load_memory",
        "load_artifacts",
        "get_user_choice",
        "google_search",
        "url_context",
        "vertex_ai_search",
        "set_model_response",
    }
)
"""Google's Agent Development Kit."""

INSPECT = frozenset(
    {
        "submit",
        "bash",
        "bash_session",
        "python",
        "text_editor",
        "computer",
        "code_execution",
        "web_search",
        "think",
        "memory",
        "update_plan",
        "skill",
        "web_browser_go",
        "web_browser_click",
        "web_browser_type",
        "web_browser_type_submit",
        "web_browser_scroll",
        "web_browser_back",
        "web_browser_forward",
        "web_browser_refresh",
    }
)
"""The standard tools of Inspect, and the `submit` of its agents."""

_BY_AGENT: dict[str, frozenset[str] | None] = {
    "terminus": None,
    "claude-code": None,
    "openhands": frozenset(
        {
            "execute_bash",
            "execute_ipython_cell",
            "str_replace_editor",
            "browser",
            "think",
            "finish",
            "task_tracker",
            "terminal",
            "file_editor",
        }
    ),
    "codex": frozenset(
        {
            "shell",
            "exec_command",
            "write_stdin",
            "apply_patch",
            "update_plan",
            "view_image",
            "web_search",
        }
    ),
    "gemini-cli": frozenset(
        {
            "run_shell_command",
            "read_file",
            "read_many_files",
            "write_file",
            "replace",
            "list_directory",
            "glob",
            "search_file_content",
            "web_fetch",
            "google_web_search",
            "save_memory",
            "write_todos",
        }
    ),
}
"""By the beginning of an agent's name; None: all its tools that name no MCP server are its own."""


def is_own_tool(agent: str, tool: str) -> bool:
    """Whether a tool without a server is built into one of the coding agents whose trajectories Harbor writes."""
    name = agent.casefold().replace("_", "-").replace(" ", "-")
    tools = next((tools for prefix, tools in _BY_AGENT.items() if name.startswith(prefix)), frozenset())
    return tools is None or tool in tools
