"""What a program that the call ran says of the call, of the environment, or of neither."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult

INCONCLUSIVE, INVALID, NOT_FOUND, SUCCESS = "inconclusive", "invalid_arguments", "not_found", "success"


def _judged(command: str, text: str, flag: bool | None = None, tool: str = "run_command"):
    call = Call(position="s1c1", name=tool, tool=tool, arguments={"command": command})
    blocks = ({"type": "text", "text": text},)
    return judge_answer(
        call, TextAnswer(text=text) if flag is None else ToolResult(content=blocks, is_error=flag), evidence="recorded"
    )


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("git push", "exit code: 128\nfatal: unable to access: curl 56 schannel: SEC_E_DECRYPT_FAILURE"),
        ("git pull", "Exit code 1\nerror: RPC failed; curl 92 HTTP/2 stream was not closed cleanly"),
        ("git clone x", "Exit code 128\nfetch-pack: early EOF\nfatal: the remote end hung up unexpectedly"),
        ("npm i", "Exit code 1\nnpm error code EACCES\nnpm error FetchError: request to https://r.example/a failed"),
        ("scp a b@c.example:", "Exit code 255\nb@c.example: Permission denied (publickey,password)."),
        ("npm publish", "Exit code 1\nnpm error code ENEEDAUTH"),
        ("docker pull x", "exit code: 1\nrpc error: code = Unavailable desc = transport is closing"),
        ("date && curl -s a.example", "Exit code 7\nSun 22 Nov"),
        ("make report", "Exit code 127\nzsh: command not found: make"),
        ("python -m ruff check", "exit code: 1\n/usr/bin/python3: No module named ruff"),
        ("tree src", "Error: [Errno 2] No such file or directory: 'tree'"),
        (
            "tree src /s",
            "'tree' is not recognized as an internal or external command,\noperable program or batch file.",
        ),
        ("which cargo || ls ~/.cargo/bin 2>/dev/null", "Exit code 2\ncargo not found"),
        ("npm test | head", "> cairn@1.0.0 test\n> vitest run\n\nsh: vitest: command not found"),
        ("uv run mypy a | tail -3", "Resolved 12 packages\nerror: Failed to spawn: `mypy`\n  Caused by: (os error 2)"),
        ("npm -v", "exit code: 1\nnpm.ps1 cannot be loaded\n+ CategoryInfo: SecurityError, PSSecurityException"),
        ("pytest", "<exception>Command 'x' timed out after 60 seconds</exception>\n<returncode>-1</returncode>\n\n"),
    ],
)
def test_what_a_program_lacks_where_it_runs_is_not_the_models(command: str, text: str) -> None:
    assert _judged(command, text).outcome == INCONCLUSIVE


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("./tools/go.sh", "exit code: 127\nsh: ./tools/go.sh: No such file or directory", NOT_FOUND),
        ("crontab -l", "Exit code 1\nno crontab for ann", NOT_FOUND),
        (
            "cat > a/b/c.txt",
            "exit code: 1\nSet-Content : Could not find a part of the path\n'C:\\w\\a\\b\\c.txt'",
            NOT_FOUND,
        ),
        ("node -e 'load(\"a.json\")'", "Exit code 1\nError: no file a.json\n    at load (/w/x.js:3:14)", INVALID),
        ("npm t", "exit code: 1\nTest Files  1 failed\n  Error: connect ECONNREFUSED 127.0.0.1:80", INVALID),
        ("grep -n 'a\\|b' x.py", "exit code: 1\n", SUCCESS),
        ("rg cairn", "Exit code 1\nsandbox: loopback: Operation not permitted", INVALID),
        ("pip list | grep -E '(a|b)'", "<returncode>1</returncode>\n<output>\n</output>", SUCCESS),
        ("mvn test; echo EXIT=$?", "rc=0\nBUILD FAILURE\nprocess ended, exit code: 1", SUCCESS),
        ("which sheet; ./check", "Exit code 1\nSheet not found", NOT_FOUND),
        ("rm a", "rc=1\nrm: cannot remove 'a': No such file or directory", NOT_FOUND),
    ],
)
def test_the_runners_own_exit_code_and_what_the_program_says_of_the_call_decide(
    command: str, text: str, outcome: str
) -> None:
    assert _judged(command, text).outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "Deploy\tCheck\t2025-09-04T14:44:13Z ##[error]Process completed with exit code 1.",
        '{"stdout": "job 7 failed: Process completed with exit code 1.\\nsee the log", "stderr": ""}',
        "/home/a/.zshenv:.:1: no such file or directory: /home/a/.cargo/env",
        "in_progress\t\tFix project not found error\tmain\tpush",
    ],
)
def test_what_a_command_shows_of_others_is_content(text: str) -> None:
    assert _judged("gh run view 7 --log", text, flag=False).outcome == SUCCESS


def test_a_stderr_in_a_hook_log_with_an_exit_code_in_its_metadata_is_the_programs() -> None:
    text = '{"output": "sh: 1: jq: not found", "metadata": {"exit_code": 127}}'
    assert _judged("jq . a.json", text).outcome == INCONCLUSIVE


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "flag", "outcome"),
    [
        ("get_record", {"code": "MAN"}, "ValueError: No support directory is kept for code 'MAN'.", True, NOT_FOUND),
        ("Read", {"path": "a.txt"}, "Content (40 kB) exceeds the maximum size. Use offset and limit.", True, INVALID),
        ("Read", {"path": "a.txt"}, "The output is too large and was saved to /tmp/a. Use offset.", True, INCONCLUSIVE),
        ("Edit", {"path": "a.txt"}, "File has been modified since read. Read it again before editing.", True, INVALID),
        ("open_page", {"id": "d1"}, "content: The page was not found.\nmetadata: {}\nurl: null", None, NOT_FOUND),
        ("Read", {"path": ".env"}, "PreToolUse:Read hook error: [guard]: BLOCKED: no secrets", True, INCONCLUSIVE),
        ("Read", {"path": ".env"}, "The file is denied by your permission settings.", True, INCONCLUSIVE),
        ("Agent", {"prompt": "find a.txt"}, "The file a.txt does not exist.", False, SUCCESS),
        ("Grep", {"pattern": "a", "limit": 20}, "No matches found\n\n[limit: 20, offset: 0]", False, SUCCESS),
        ("read_file", {"name": "tools.py"}, "ERROR: tools.py does not exist", None, NOT_FOUND),
        ("report", {"by": "day"}, '{"response_status": "Error", "message": "No data found for day"}', None, NOT_FOUND),
    ],
)
def test_look_ups_limits_hooks_and_prompts(tool, arguments, text, flag, outcome) -> None:
    call = Call(position="s1c1", name=tool, tool=tool, arguments=arguments)
    blocks = ({"type": "text", "text": text},)
    answer = TextAnswer(text=text) if flag is None else ToolResult(content=blocks, is_error=flag)
    assert judge_answer(call, answer, evidence="recorded").outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "NameError(\"name 'torch' is not defined\")",
        "SyntaxError('invalid syntax', ('<string>', 1, 5, 'pip install torch'))",
    ],
)
def test_an_exception_of_the_models_own_program_is_not_charged_to_the_environment(text):
    call = Call(position="s1c1", name="python_repl", tool="python_repl", arguments={"query": "pip install torch"})
    assert judge_answer(call, TextAnswer(text=text), evidence="recorded").outcome == "invalid_arguments"


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("curl -s http://a.example | head -3", "exit code: 0\ncurl: (6) Could not resolve host: a.b", INCONCLUSIVE),
        (
            "nl a.py | sed -n 1,5p",
            "<returncode>0</returncode>\n<output>\nnl: a.py: No such file or directory\n",
            NOT_FOUND,
        ),
        ("cat a.py | wc -l", "exit code: 0\n12\ncat: b.py: No such file or directory", SUCCESS),
        ("go a.py", "Script failed\nWall time 0.1 seconds\nOutput:\n\nx: a.py: No such file or directory", NOT_FOUND),
        ("go x", "Script completed\nWall time 0.1 seconds\nOutput:\n\nfailed: 0", SUCCESS),
        ("which uv || echo 'no uv here'", "sh: 1: uv: not found\nno uv here", SUCCESS),
        ("which uv || echo 'no uv here'", "exit code: 1\nsh: 1: uv: not found", INCONCLUSIVE),
        (
            "python -c 'import a' || (echo \"not there\")",
            "Traceback (most recent call last):\nKeyError: a\nnot there",
            SUCCESS,
        ),
        (
            "node a.js",
            "exit code: 1\nLoadKeyError [AI_LoadKeyError]: API key is missing\n at a\n at b\n at c",
            INCONCLUSIVE,
        ),
    ],
)
def test_a_status_is_that_of_the_last_program_and_a_command_may_expect_its_failure(
    command: str, text: str, outcome: str
) -> None:
    assert _judged(command, text).outcome == outcome


def test_a_program_that_is_given_as_free_text_is_read_like_one_in_an_argument():
    program = 'const r = await tools.run({"cmd": "curl -s http://127.0.0.1:8080/"}); text(r.output)'
    call = Call(position="s1c1", name="exec", tool="exec", raw=program, local=True)
    printed = "Script completed\nWall time 0.1 seconds\nOutput:\ncurl: (7) Failed to connect to 127.0.0.1 port 8080"
    assert judge_answer(call, TextAnswer(text=printed), evidence="recorded").outcome == INCONCLUSIVE


def test_who_writes_to_a_program_that_runs_gets_its_status_and_a_runners_own_script_has_none():
    head = "Chunk ID: 3f2b\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n"
    call = Call(position="s1c1", name="write_stdin", tool="write_stdin", arguments={"session_id": 7, "chars": ""})
    judged = judge_answer(call, TextAnswer(text=head + "cat: a.txt: No such file or directory"), evidence="recorded")
    assert judged.outcome != SUCCESS
    built = "Script completed\nWall time 9 seconds\nOutput:\nCompiling a\nerror: could not compile `a`\n"
    assert _judged("cargo check", built, tool="exec").certainty != "certain"


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("npm run dev", "exit code: 1\nError: listen EPERM: operation not permitted 0.0.0.0:3000", INCONCLUSIVE),
        ("npm run dev -- -p 3000", "exit code: 1\n⨯ Failed\nError: listen EPERM: operation 0.0.0.0:3000", INCONCLUSIVE),
        ("echo 'a||b' | while IFS='||' read -r x; do", "(eval):1: command not found: IFS=||", INVALID),
        ("cat notes | head", "(eval):1: no matches found: notes", NOT_FOUND),
    ],
)
def test_a_shell_that_cannot_read_a_command_and_a_sandbox_that_denies_a_port(command, text, outcome):
    assert _judged(command, text).outcome == outcome


def test_a_status_that_a_command_prints_without_one_of_its_own_is_likely_at_most():
    assert _judged("python a.py", "Error: 404 Not Found", flag=False).certainty == "likely"


def test_who_shows_the_output_of_a_job_runs_no_program():
    text = '{"shell_id": "b7", "status": "failed", "exitCode": 1, "stderr": "cd: no such directory"}'
    call = Call(position="s1c1", name="BashOutput", tool="BashOutput", arguments={"bash_id": "b7"})
    assert judge_answer(call, TextAnswer(text=text), evidence="recorded").rule != "program.failed"


_NO_PANDAS = (
    "Exit code 1\nTraceback (most recent call last):\n"
    "  File \"a\", line 1\nModuleNotFoundError: No module named 'pandas'"
)


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [
        ("python -c 'import pandas as pd'", _NO_PANDAS, INCONCLUSIVE),
        ("python - <<E\nfrom pandas import read_csv\nE", _NO_PANDAS, INCONCLUSIVE),
        ("python a.py", _NO_PANDAS, INVALID),
        ("node -e 'require(\"express\")'", "Exit code 1\nError: Cannot find module 'express'\n at a", INCONCLUSIVE),
        ("node -e 'require(\"./b\")'", "Exit code 1\nError: Cannot find module './b'\n at a", INVALID),
    ],
)
def test_a_package_that_a_program_of_the_call_imports_is_the_environments_where_it_is_not_installed(
    command: str, text: str, outcome: str
) -> None:
    assert _judged(command, text).outcome == outcome


def test_words_that_describe_a_command_are_no_statement_of_a_database() -> None:
    arguments = {"command": "createdb shop", "description": "Create the database from the dump"}
    call = Call(position="s1c1", name="Bash", tool="Bash", arguments=arguments)
    said = "Exit code 1\ncreatedb: error: connection to server at localhost failed: Connection refused"
    assert judge_answer(call, TextAnswer(text=said), evidence="recorded").outcome == INCONCLUSIVE
