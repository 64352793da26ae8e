"""Sentences without any error flag, in several languages."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult


def _outcome(text, tool="update_item", **arguments):
    call = Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments or {"id": 7})
    answers = TextAnswer(text=text), ToolResult(content=({"type": "text", "text": text},))
    one, other = (judge_answer(call, answer, evidence="recorded") for answer in answers)
    assert one.outcome == other.outcome
    return one


FAILURES = [
    "No drawing was made yet. Please use 'start' first.",
    "The extension needed for this report is not currently installed.",
    "The end of the range lies before its start.",
    "You have not been given access to this folder by the owner.",
    "A booking with that number is on file already.",
    "请先登录后再执行此操作",
    "您输入的日期格式有误",
    "服务器繁忙,请稍后重试",
    "指定された日付は無効です。",
    "接続がタイムアウトしました。",
    "El campo nombre es obligatorio.",
    "No se pudo encontrar el archivo solicitado.",
    "Der angegebene Benutzer existiert nicht.",
    "Das Feld Name ist erforderlich.",
    "Le fichier demandé est introuvable.",
    "La valeur saisie n'est pas valide.",
    "Указанный файл не найден.",
    "Недостаточно прав для выполнения операции.",
    "요청한 파일을 찾을 수 없습니다.",
    "날짜 형식이 올바르지 않습니다.",
    "O campo nome é obrigatório.",
    "Il file richiesto non è stato trovato.",
]
SUCCESSES = [
    "The item was renamed.",
    "The train leaves at 10:42 from platform 3.",
    "Everything is up to date.",
    "文件已成功保存",
    "共找到 12 条记录",
    "ファイルを保存しました。",
    "El archivo se guardó correctamente.",
    "Der Eintrag wurde gespeichert.",
    "Le fichier a été enregistré.",
    "Файл успешно сохранён.",
    "파일을 저장했습니다.",
    "O arquivo foi salvo.",
]


@pytest.mark.parametrize("text", FAILURES)
def test_a_bare_sentence_that_reports_a_failure_is_one_and_is_never_certain(text):
    judged = _outcome(text)
    assert judged.outcome != "success"
    assert judged.certainty != "certain"


@pytest.mark.parametrize("text", SUCCESSES)
def test_a_bare_sentence_that_reports_a_success_is_one(text):
    assert _outcome(text).outcome == "success"


def test_an_error_that_says_nothing_more_is_not_charged_to_anybody():
    for text in ("Error: something went wrong", "Error: unknown error", "An unexpected error occurred."):
        assert _outcome(text).reason == "unexplained"


@pytest.mark.parametrize("tool", ["get_last_errors", "read_file", "list_failures", "get_crash_log"])
def test_what_was_asked_for_or_stored_is_content_whatever_it_says(tool):
    assert _outcome("The session could not be opened.", tool, name="last").outcome == "success"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("-- totals\nselect a,\n b\nfrom t", 'Error: column "b" does not exist'),
        ("insert into t (c) values (1)", "table t has no column named c"),
        ("select f(1)", "Error: function f(integer) does not exist"),
    ],
)
def test_a_name_inside_a_query_that_does_not_exist_is_the_querys_fault(sql, text):
    assert _outcome(text, "execute_sql", sql=sql).outcome == "invalid_arguments"


def test_an_exception_of_the_models_own_program_is_the_models_and_of_the_server_is_not():
    text = "Error: TypeError: Cannot read properties of undefined (reading 'rows')"
    assert _outcome(text, "evaluate", code="async () => page.rows.map(row => row.id)").outcome == "invalid_arguments"
    assert _outcome(text, "get_rows", table="t").outcome == "inconclusive"


def test_a_file_that_the_call_could_not_have_named_is_the_servers():
    text = "Error: ENOENT: no such file or directory, open '/srv/data/index.json'"
    assert _outcome(text, "search_recipes", query="soup").outcome == "inconclusive"
    assert _outcome(text, "load_index", path="/srv/data/index.json").outcome == "not_found"


@pytest.mark.parametrize(
    "text",
    [
        "Tool not found in catalogue: update_item",
        "Error: Model tried to call unavailable tool 'update_item'.",
        "Server 'srv' is not defined in the settings.",
    ],
)
def test_a_harness_that_does_not_know_the_tool_or_its_server_says_so_in_many_ways(text):
    assert _outcome(text).outcome == "unknown_tool"


def test_a_program_that_was_stopped_for_its_time_is_inconclusive_whatever_it_printed_before():
    text = "line 1\nline 2\n<meta>\ncommand was terminated after exceeding the limit of 9000 ms\n</meta>"
    assert _outcome(text, "run_shell", command="make all").outcome == "inconclusive"


SPEAKS_OF_THE_CALL = [
    ("Read is not permitted outside the working copy.", "Read", {"file_path": "/index.html"}),
    ("Read operation blocked by hook:\nUse the sample file instead", "Read", {"file_path": ".secret"}),
    ("File does not exist. Note: you are in /a.", "Read", {"file_path": "/a/b.py"}),
    ("web_fetch error: the url cannot be opened", "web_fetch", {"url": "https://a.example"}),
    ("Web fetch error: url_not_accessible", "web_fetch", {"url": "https://a.example"}),
    ("file_not_found", "read_code_file", {"filename": "a.py"}),
    ("1 validation error for call[get_article]\ntitle\n  Missing required argument", "get_article", {}),
    ("Could not retrieve a transcript for the video!\n\nThis is most likely caused by:", "get_transcript", {"id": "x"}),
    ('bad_data: invalid parameter "query": unexpected end', "query_range", {"query": "up{"}),
    ("The user doesn't want to proceed with this tool use. The tool use was rejected.", "get_page_text", {"id": "7"}),
]


@pytest.mark.parametrize(("text", "tool", "arguments"), SPEAKS_OF_THE_CALL)
def test_a_first_line_that_complains_of_the_call_is_a_failure_whatever_the_tool_hands_out(text, tool, arguments):
    assert _outcome(text, tool, **arguments).outcome != "success"


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("Error handling in Rust\n\nA file may be missing.", "Read", {"file_path": "/rust.md"}),
        ("Permission denied", "read_text_file", {"path": "/sandbox/short.txt"}),
        ("Task #35 created successfully: error classes", "task_create", {"subject": "error classes"}),
        ("You have no tasks.", "list_tasks", {}),
        ("https://a.example is not reachable", "is_reachable", {"url": "https://a.example"}),
        ("Imported 2 rows, 1 failed", "import_rows", {"rows": [1, 2, 3]}),
        ("The file cabinet cannot be moved; call Ann", "read_note", {"title": "todo"}),
    ],
)
def test_a_first_line_that_complains_of_its_own_things_is_content(text, tool, arguments):
    assert _outcome(text, tool, **arguments).outcome == "success"


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("     1→I need permission to create a script.\n     2→Then I write it.", "Read", {"file_path": "/a.txt"}),
        ("66:❌ DO NOT skip the list", "Grep", {"pattern": "DO NOT .*list", "path": "/a.md"}),
        ("class StoreError(Exception):\nclass Store:", "Grep", {"pattern": "class Store", "path": "/a.py"}),
    ],
)
def test_lines_of_a_file_that_were_read_or_searched_for_are_content(text, tool, arguments):
    assert _outcome(text, tool, **arguments).outcome == "success"
    path = next(value for name, value in arguments.items() if "path" in name)
    assert _outcome(f"Error: {path}: no such file", tool, **arguments).outcome != "success"
