"""What an audit says of a call that the environment failed: which later call got the same, and when none is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.analysis.audit import audit
from replay.diagnosis.sql import statements_of
from replay.records.audit import Audit
from replay.runfile import Run
from tests.runs import Step, call, failed, make_run, write_trajectory

TIMED_OUT = "Error: request timed out after 30 seconds"
CRASHED = "'str' object has no attribute 'get'"
ANOTHER_WAY = "dealt with the same in another way and was answered."
DONE = "The task passed without it."


def audited(directory: Path, calls: list[Step], question: str, *, passed: bool = False) -> Audit:
    fields: dict[str, Any] = {"model": "ada", "question": question, "reported": {"passed": passed}}
    file = write_trajectory(directory / "t.trajectory.json", calls, final_reply="Done.", **fields)
    with Run.read(make_run(directory / "run.db", [file])) as run:
        return audit(run)


def bearings(directory: Path, calls: list[Step], question: str, *, passed: bool = False) -> dict[str, tuple[str, str]]:
    faults = audited(directory, calls, question, passed=passed).faults.values()
    return {fault.call.call: (fault.bearing, fault.why) for [fault] in faults}


def sql(statement: str) -> dict[str, str]:
    return {"query": statement}


def row(index: str) -> dict[str, str]:
    return sql(f"INSERT INTO found_indexes (name, kind) VALUES ('{index}', 'hnsw')")


ROWS = "Write the name of every index into the table found_indexes."


def test_a_statement_that_writes_got_nothing_by_one_that_reads(tmp_path: Path) -> None:
    calls = [
        call("execute_sql", row("first_idx"), "[]"),
        failed("execute_sql", row("second_idx"), TIMED_OUT),
        call("execute_sql", sql("SELECT name, kind FROM found_indexes WHERE name = 'second_idx'"), "[]"),
        call("execute_sql", row("third_idx"), "[]"),
        call("execute_sql", sql("INSERT INTO found_indexes SELECT 'second_idx', 'hnsw'"), "[]"),
    ]
    assert bearings(tmp_path, calls, ROWS) == {"s2c1": ("recovered", "s5c1 asked for the same and got it.")}


def test_a_statement_that_reads_got_nothing_by_one_that_writes_or_reads_less(tmp_path: Path) -> None:
    calls = [
        failed("execute_sql", sql("SELECT name, kind FROM found_indexes"), TIMED_OUT),
        call("execute_sql", row("first_idx"), "[]"),
        call("execute_sql", sql("SELECT name FROM found_indexes"), '[{"name": "first_idx"}]'),
        call("execute_sql", sql("-- all\nSELECT * FROM found_indexes;"), '[{"name": "first_idx", "kind": "hnsw"}]'),
    ]
    assert bearings(tmp_path, calls, ROWS) == {"s1c1": ("recovered", "s4c1 asked for the same and got it.")}


def test_a_statement_that_reads_is_worked_around_by_one_that_reads_other_columns_and_not_by_a_count(
    tmp_path: Path,
) -> None:
    calls = [
        failed("execute_sql", sql("SELECT name, kind FROM found_indexes"), TIMED_OUT),
        call("execute_sql", sql("SELECT COUNT(*) FROM found_indexes"), '[{"count": 2}]'),
        call("execute_sql", sql("SELECT name FROM found_indexes LIMIT 9"), '[{"name": "first_idx"}]'),
    ]
    got = ("worked-around", "s3c1 dealt with the same in another way and was answered.")
    assert bearings(tmp_path, calls, ROWS) == {"s1c1": got}


def test_a_table_that_was_to_be_emptied_and_filled_again_was_so_by_delete_and_insert(tmp_path: Path) -> None:
    calls = [
        failed("execute_sql", sql(f"TRUNCATE found_indexes; {row('first_idx')['query']}"), TIMED_OUT),
        call("execute_sql", sql("DELETE FROM found_indexes"), "[]"),
        call("execute_sql", row("first_idx"), "[]"),
    ]
    got = ("recovered", "s2c1 and s3c1 asked for all of it and got it.")
    assert bearings(tmp_path, calls, ROWS) == {"s1c1": got}


def test_statements_that_were_made_one_by_one_later_recover_the_one_that_made_all(tmp_path: Path) -> None:
    calls = [
        failed(
            "apply_migration", {"name": "all", "query": "CREATE TABLE a (x int); CREATE TABLE b (y int);"}, TIMED_OUT
        ),
        call("execute_sql", sql("CREATE TABLE a (x integer)"), "[]"),
        call("execute_sql", sql("CREATE TABLE b (y integer)"), "[]"),
    ]
    got = ("recovered", "s2c1 and s3c1 asked for all of it and got it.")
    assert bearings(tmp_path, calls, "Make the tables a and b.") == {"s1c1": got}


def test_a_file_that_was_never_read_is_not_got_by_writing_it(tmp_path: Path) -> None:
    calls = [
        failed("get_file_contents", {"path": "Cargo.toml"}, CRASHED),
        call("search_code", {"query": "path:Cargo.toml version"}, '{"total_count": 0, "incomplete_results": false}'),
        call("push_files", {"files": [{"path": "Cargo.toml", "content": 'version = "1.1.0"'}]}, "pushed"),
    ]
    why = 'The task asks for "Cargo.toml", and no other call got it.'
    assert bearings(tmp_path, calls, "Set the version in Cargo.toml to 1.1.0.") == {"s1c1": ("on-path", why)}


def test_a_file_is_got_by_the_id_that_a_listing_gives_for_it_and_not_by_a_list_of_its_commits(tmp_path: Path) -> None:
    listing = '[{"path": "src/lib.rs", "sha": "acd572ad0e8f"}, {"path": "src/encoding.rs", "sha": "afe1fce7b016"}]'
    calls = [
        call("act", {"action_name": "get_pull"}, '{"ref": "pr/36-main", "head": "c0f2f407e0f1"}'),
        failed(
            "act", {"action_name": "get_content", "params": '{"path": "src/encoding.rs", "ref": "pr/36-main"}'}, CRASHED
        ),
        call("act", {"action_name": "get_commit", "params": '{"sha": "c0f2f407e0f1"}'}, '{"message": "Fix"}'),
        call("act", {"action_name": "list_commits", "params": '{"path": "src/encoding.rs"}'}, '[{"message": "Fix"}]'),
        call("act", {"action_name": "get_content", "params": '{"path": "src"}'}, listing),
        call("act", {"action_name": "get_blob", "params": '{"sha": "acd572ad0e8f"}'}, "mod encoding;"),
        call("act", {"action_name": "get_blob", "params": '{"sha": "afe1fce7b016"}'}, "use std;"),
    ]
    question = "What does src/encoding.rs use?"
    assert bearings(tmp_path, calls, question) == {"s2c1": ("worked-around", f"s7c1 {ANOTHER_WAY}")}


def test_another_sheet_is_not_the_same_though_its_name_is_a_plain_word(tmp_path: Path) -> None:
    calls = [
        failed("sheets/get_rows", {"id": "1X9yLub8Cpo", "sheet": "Songs"}, TIMED_OUT),
        call("sheets/get_rows", {"id": "1X9yLub8Cpo", "sheet": "Singers"}, "a, b"),
    ]
    [(bearing, _)] = bearings(tmp_path, calls, "Who sang most?").values()
    assert bearing == "beside"


def test_a_program_that_says_only_what_stands_in_it_did_not_deal_with_the_file_that_it_names(tmp_path: Path) -> None:
    calls = [
        failed("sheets/read", {"file": "/data/turnover.xlsx"}, TIMED_OUT),
        call("python/execute", {"code": "wanted = '/data/turnover.xlsx'; print('Noted.')"}, "STDOUT: Noted."),
        call("python/execute", {"code": "print(read_excel('/data/turnover.xlsx'))"}, "STDOUT: Company 12"),
    ]
    got = ("worked-around", "s3c1 dealt with the same in another way and was answered.")
    assert bearings(tmp_path, calls, "What was the turnover?") == {"s1c1": got}


def test_a_failure_that_a_program_tells_in_its_own_words_is_none_of_the_environment(tmp_path: Path) -> None:
    code = "if not token:\n    print('Error: 401 Unauthorized, no token')\n    sys.exit(1)"
    calls = [
        call("python/execute", {"code": "print(40 + 2)"}, "STDOUT 42 return code: 0"),
        failed("python/execute", {"code": code}, "STDOUT Error: 401 Unauthorized, no token return code: 1"),
    ]
    assert bearings(tmp_path, calls, "Write the page.") == {}


def test_a_program_that_has_every_line_of_the_one_that_failed_asks_for_the_same(tmp_path: Path) -> None:
    code = "import mysql\nprint(mysql.tables('cars'))"
    calls = [
        failed("python/execute", {"code": code}, "ModuleNotFoundError: No module named 'mysql'\nreturn code: 1"),
        call("python/execute", {"code": f"{code}\nprint('all')"}, "drivers, races"),
    ]
    assert bearings(tmp_path, calls, "Which cars?") == {"s1c1": ("recovered", "s2c1 asked for the same and got it.")}


def test_a_program_says_what_the_script_says_that_it_runs(tmp_path: Path) -> None:
    script = {"path": "/work/pack.py", "content": "shutil.make_archive('/work/papers.zip')"}
    calls = [
        failed("shell/run_command", {"command": "zip -r /work/papers.zip"}, "/bin/sh: 1: zip: not found"),
        call("files/write_file", script, "written"),
        call("shell/run_command", {"command": "python pack.py"}, "All packed"),
        call("shell/run_command", {"command": "ls /work/papers.zip"}, "papers.zip"),
    ]
    got = ("worked-around", "s3c1 dealt with the same in another way and was answered.")
    assert bearings(tmp_path, calls, "Pack it as papers.zip.") == {"s1c1": got}


@pytest.mark.parametrize(
    ("later", "bearing"),
    [
        ({"path": "/data/a.csv", "limit": 20, "timeout": 9}, "recovered"),
        ({"path": "/data/a.csv"}, "recovered"),
        ({"path": "/data/a.csv", "limit": 5}, "worked-around"),
        ({"path": "/data/a.csv", "limit": 20, "offset": 40}, "worked-around"),
    ],
    ids=["longer patience", "all of it", "less", "another part"],
)
def test_a_fault_is_recovered_only_where_the_same_tool_was_asked_for_no_less(
    tmp_path: Path, later: dict[str, Any], bearing: str
) -> None:
    wanted = {"path": "/data/a.csv", "limit": 20, "timeout": 3}
    calls = [failed("files/read", wanted, TIMED_OUT), call("files/read", later, "a, b")]
    assert [found for found, _ in bearings(tmp_path, calls, "Sum /data/a.csv.").values()] == [bearing]


def test_a_sheet_is_the_same_by_the_id_that_a_listing_gives_for_its_title(tmp_path: Path) -> None:
    calls = [
        failed("sheets/list_sheets", {"spreadsheet": "NHL Schedule"}, TIMED_OUT),
        call("sheets/list_spreadsheets", {}, '{"id": "1I1ycr9bb-2waJLLA", "title": "NHL Schedule"}'),
        call("sheets/list_sheets", {"spreadsheet": "1I1ycr9bb-2waJLLA"}, "schedule"),
    ]
    got = ("recovered", "s3c1 asked for the same and got it.")
    assert bearings(tmp_path, calls, "Who plays twice in the NHL Schedule?") == {"s1c1": got}


def test_an_outage_is_one_fault_until_one_of_its_tools_answers_and_is_judged_by_the_call_that_mattered(
    tmp_path: Path,
) -> None:
    row = {"id": "1X9yLub8Cpo", "row": "songs, 12"}
    calls = [
        failed("sheets/get_status", {"verbose": "yes"}, TIMED_OUT),
        call("files/read_file", {"path": "/in/a.txt"}, "a"),
        failed("sheets/append_row", row, TIMED_OUT),
        call("sheets/get_status", {}, "up"),
        failed("sheets/get_status", {"verbose": "yes"}, TIMED_OUT),
    ]
    [first], [second] = audited(tmp_path, calls, "Add the row of the songs.").faults.values()
    assert (first.call.call, first.more, first.bearing) == ("s1c1", ("s3c1",), "on-path")
    assert first.why == "s3c1, in the same outage: Nothing was written after it."
    assert (second.call.call, second.more, second.bearing) == ("s5c1", (), "beside")


def test_a_program_that_is_not_installed_is_held_against_the_sandbox_and_not_a_server(tmp_path: Path) -> None:
    calls = [failed("shell/run_command", {"command": "zip -r /work/papers.zip"}, "/bin/sh: 1: zip: not found")]
    found = audited(tmp_path, calls, "Pack it as papers.zip.")
    [[fault]], [mend] = found.faults.values(), found.mends
    assert (fault.in_sandbox, fault.cause) == (True, "lacking in the sandbox")
    assert (mend.subject, mend.name, mend.reason) == ("sandbox", "shell", "lacking in the sandbox")
    assert found.behind_mend(mend) == found.runs


def test_nothing_lies_on_the_way_to_a_loss_where_the_task_passed(tmp_path: Path) -> None:
    calls = [failed("files/read", {"path": "/data/a.csv"}, TIMED_OUT), call("files/list", {}, "a.csv")]
    assert bearings(tmp_path, calls, "Is there an a.csv?", passed=True) == {"s1c1": ("beside", DONE)}


def test_a_read_of_what_the_model_had_written_itself_is_a_mere_look(tmp_path: Path) -> None:
    path = {"path": "out/CHANGELOG.md"}
    calls = [
        call("create_or_update_file", {**path, "content": "# Changelog"}, "created"),
        call("create_pull_request", {"body": "Adds out/CHANGELOG.md"}, "opened"),
        failed("get_file_contents", path, CRASHED),
        call("list_commits", {}, "one"),
    ]
    why = "It looks at what s1c1 had written."
    assert bearings(tmp_path, calls, "Write out/CHANGELOG.md.") == {"s3c1": ("beside", why)}


def test_what_was_dropped_later_did_not_make_the_table(tmp_path: Path) -> None:
    made = "CREATE TABLE a (x int, y int)"
    calls = [failed("execute_sql", sql(made), TIMED_OUT)]
    calls += [call("execute_sql", sql(statement), "[]") for statement in (made, "DROP TABLE a", made)]
    assert bearings(tmp_path, calls, "Make the table a.") == {
        "s1c1": ("recovered", "s4c1 asked for the same and got it.")
    }


def test_the_fields_that_an_answer_is_to_have_are_not_what_the_task_asks_for(tmp_path: Path) -> None:
    calls = [
        failed("get_file", {"path": "package.json", "fields": ["content"]}, CRASHED),
        call("list_files", {"path": "src"}, "a.js"),
    ]
    [(bearing, _)] = bearings(tmp_path, calls, "Add the file lint.yml with this content: on push.").values()
    assert bearing == "beside"


def test_an_answer_that_later_calls_took_values_from_is_no_fault(tmp_path: Path) -> None:
    calls = [
        failed("list_issues", {}, 'Error: connect ECONNREFUSED, with issue "ISS-48213" open'),
        call("get_issue", {"id": "ISS-48213"}, "closed"),
    ]
    assert bearings(tmp_path, calls, "What of the issues?") == {}


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("-- look\nSELECT 1", ["select"]),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", ["insert"]),
        ("SET ROLE analyst; SELECT x FROM t", ["select"]),
        ("DO $$ BEGIN INSERT INTO t VALUES (1); UPDATE t SET x = 2; END $$;", ["insert", "update"]),
        ("SELECT 'a; DROP TABLE t' FROM t", ["select"]),
        ("show me the way", []),
        ("who won?", []),
    ],
)
def test_a_statement_is_known_by_its_verb(text: str, verbs: list[str]) -> None:
    assert [statement.verb for statement in statements_of(text)] == verbs


def test_an_action_that_never_answered_lies_on_the_way_whatever_its_gateway_answered_of_others(tmp_path: Path) -> None:
    def act(action: str, params: str, said: str) -> Step:
        return call("act", {"action_name": action, "params": params}, said)

    nothing = (
        '{"server_name": "hub", "action_name": "commits", "result": {"success": true, "data": {"total_count": 0}}}'
    )
    calls = [
        act("get_content", '{"path": "CAIRNS.md"}', CRASHED),
        act("get_content", '{"path": "CAIRNS.md", "ref": "main"}', CRASHED),
        act("commits", '{"q": "CAIRNS.md"}', nothing),
        act("list_tags", "{}", '[{"name": "v1.0"}]'),
    ]
    found = bearings(tmp_path, calls, "Which commit added the part on cairns to CAIRNS.md?")
    assert found == {"s1c1": ("on-path", "get_content was asked 1 more time and never answered.")}
    found = bearings(tmp_path, [calls[0], *calls[2:]], "Which commit added the part on cairns to CAIRNS.md?")
    assert found["s1c1"][0] == "on-path"


def test_a_task_that_passed_worked_around_what_failed_where_it_went_on_with_the_same_tables(tmp_path: Path) -> None:
    visits = "SELECT day, guests FROM visits JOIN huts USING (hut)"
    calls = [
        failed("advise_indexes", {"queries": [visits]}, TIMED_OUT),
        call("execute_sql", sql("CREATE INDEX by_hut ON visits (hut)"), "No results"),
        call("explain_query", sql(visits), "Execution Time: 4 ms"),
    ]
    found = bearings(tmp_path, calls, "Make the query fast.", passed=True)
    assert found == {"s1c1": ("worked-around", "s3c1 went on with huts and visits in another way.")}


def test_the_tables_that_describe_tables_are_one(tmp_path: Path) -> None:
    calls = [
        failed("execute_sql", sql("SELECT relname FROM pg_class WHERE relkind = 'i'"), TIMED_OUT),
        call("execute_sql", sql("SELECT column_name FROM information_schema.columns"), '[{"column_name": "hut"}]'),
    ]
    found = bearings(tmp_path, calls, "Which columns are there?", passed=True)
    assert found == {"s1c1": ("worked-around", "s2c1 went on with the catalog in another way.")}


def test_rows_with_other_numbers_are_most_of_what_was_to_be_made_and_not_all_of_it(tmp_path: Path) -> None:
    def share(number: str) -> dict[str, str]:
        return sql(f"INSERT INTO shares (hut, guests, beds, nights, share) VALUES ('high', 44, 60, 91, {number})")

    calls = [failed("execute_sql", share("31.43"), TIMED_OUT), call("execute_sql", share("31"), "[]")]
    found = bearings(tmp_path, calls, "Write the shares into the table shares.")
    assert found == {"s1c1": ("worked-around", "s2c1 made most of it.")}
