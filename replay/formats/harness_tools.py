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
        "read_file",
        "list_files",
        "grep",
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

TERMINAL_AGENTS = frozenset(
    {
        "bash_command",
        "mark_task_complete",
        "execute_bash",
        "execute_ipython_cell",
        "str_replace_editor",
        "think",
        "finish",
        "task_tracker",
        "terminal",
        "file_editor",
        "bash",
        "shell",
        "exec_command",
        "write_stdin",
        "apply_patch",
        "update_plan",
        "view_image",
        "run_shell_command",
        "read_file",
        "write_file",
        "replace",
        "Bash",
        "BashOutput",
        "KillShell",
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "Glob",
        "Grep",
        "LS",
        "Task",
        "Agent",
        "TodoWrite",
        "ToolSearch",
        "Skill",
        "WebFetch",
        "WebSearch",
        "AskUserQuestion",
        "ExitPlanMode",
        "EnterPlanMode",
    }
)
"""The coding agents whose trajectories Harbor writes as ATIF: Terminus, OpenHands, Claude Code, Codex, Gemini CLI."""
