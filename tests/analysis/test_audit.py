from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from replay.analysis.audit import audit, faulty_tasks, verified
from replay.analysis.compare import compare_models
from replay.errors import UsageError
from replay.records import Outcome
from replay.records.audit import Audit, AuditedFault
from replay.reports.audit import render
from replay.runfile import Run, call_rows
from tests.conftest import ROOT, SERVERS
from tests.in_process import replay_here
from tests.runs import Step, call, failed, make_run, write_trajectory

TIMED_OUT = "Error: request timed out after 30 seconds"
QUESTION = "What does report.csv say of turnover?"
READ = {"path": "/data/report.csv"}


class Benchmark:
    """Trajectories of tasks with their reported success, and their audit."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, list[Path]()

    def add(self, model: str, name: str, calls: list[Step], /, *, passed: bool | None = None, **fields: Any) -> None:
        path = self.path / model / f"{name}.trajectory.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        reported = {} if passed is None else {"reported": {"passed": passed}}
        fields = {"question": QUESTION, "final_reply": "Done.", **reported, **fields}
        self.files.append(write_trajectory(path, calls, model=model, **fields))

    def audit(self, faulty: dict[str, str] | None = None) -> Audit:
        with Run.read(make_run(self.path / "run.db", self.files)) as run:
            return audit(run, None, faulty)

    def fault(self) -> AuditedFault:
        """The one fault of the one undecided task."""
        [task] = self.audit().undecided
        [fault] = task.faults
        return fault


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return Benchmark(tmp_path)


def test_a_lost_task_whose_file_could_never_be_read_is_undecided(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [failed("files/read", READ, TIMED_OUT)], passed=False)
    fault = benchmark.fault()
    assert (fault.bearing, fault.reason, fault.then) == ("on-path", "timeout", "gave up")
    assert fault.why == "The model stopped there."
    [ada] = benchmark.audit().models
    assert (ada.reported, ada.supported, ada.lost_by_model) == (0.0, (0.0, 1.0), 0)


def test_a_fault_after_which_the_same_was_got_decides_nothing(benchmark: Benchmark) -> None:
    again = [failed("files/read", READ, TIMED_OUT), call("files/read", READ, "turnover: 12")]
    benchmark.add("ada", "same-tool", again, passed=False)
    other = [failed("files/read", READ, TIMED_OUT), call("shell/cat", {"file": "/data/report.csv"}, "turnover: 12")]
    benchmark.add("ada", "other-tool", other, passed=False)
    found = benchmark.audit()
    assert found.undecided == ()
    assert found.models[0].faults == {"on-path": 0, "recovered": 1, "worked-around": 1, "beside": 0}
    assert found.models[0].lost_by_model == 2


def test_a_tool_that_is_asked_in_vain_again_lies_on_the_path(benchmark: Benchmark) -> None:
    calls = [
        failed("files/read", {"path": "/etc/one.txt"}, TIMED_OUT),
        failed("files/read", {"path": "/etc/two.txt"}, TIMED_OUT),
        call("files/list", {}, "a"),
    ]
    benchmark.add("ada", "t1", calls, passed=False)
    [task] = benchmark.audit().undecided
    [fault] = task.faults
    assert (fault.call.call, fault.more) == ("s1c1", ("s2c1",))
    assert fault.why == "read was asked 1 more time and never answered."


def test_a_tool_that_answered_again_that_there_is_no_such_thing_is_not_asked_in_vain(benchmark: Benchmark) -> None:
    calls = [
        failed("files/read", {"path": "/etc/one.txt"}, TIMED_OUT),
        failed("files/read", {"path": "/etc/two.txt"}, "Error: file not found: /etc/two.txt"),
        call("files/list", {}, "a"),
    ]
    benchmark.add("ada", "t1", calls, passed=False)
    assert benchmark.audit().undecided == ()


def test_what_another_tool_made_under_another_name_is_recovered(benchmark: Benchmark) -> None:
    sql = "CREATE TABLE turnover_report (quarter integer)"
    calls = [
        failed("db/apply_migration", {"name": "make_turnover_table", "query": sql}, TIMED_OUT),
        failed("db/apply_migration", {"name": "make_report_table", "query": sql}, TIMED_OUT),
        call("db/execute_sql", {"query": sql}, "CREATE TABLE"),
    ]
    benchmark.add("ada", "t1", calls, passed=False, question="Create the table turnover_report in the database.")
    assert benchmark.audit().models[0].faults["recovered"] == 1


def test_what_the_task_names_and_no_later_call_got_lies_on_the_path(benchmark: Benchmark) -> None:
    calls = [failed("files/read", READ, TIMED_OUT), call("files/list", {}, "a")]
    benchmark.add("ada", "t1", calls, passed=False)
    assert benchmark.fault().why == 'The task asks for "report.csv", and no other call got it.'


def test_a_fault_that_nothing_depends_on_lies_beside_the_path(benchmark: Benchmark) -> None:
    calls = [
        failed("web/search", {"query": "weather in Lisbon"}, TIMED_OUT),
        call("files/read", READ, "turnover: 12"),
    ]
    benchmark.add("ada", "t1", calls, passed=False)
    found = benchmark.audit()
    assert found.undecided == ()
    assert found.models[0].faults["beside"] == 1


def test_an_error_of_the_model_is_not_a_fault_of_the_environment(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [failed("files/read", READ, "Error: file not found: /data/report.csv")], passed=False)
    found = benchmark.audit()
    assert (found.undecided, sum(found.models[0].faults.values())) == ((), 0)


NO_DNS = "requests.exceptions.ConnectionError: Failed to resolve 'api.test': Temporary failure in name resolution"
REFUSED = "curl: (7) Failed to connect to localhost port 8080: Connection refused"
KEY_FILE = call("files/read_file", {"path": "/data/key.txt"}, "Use the key kx-7731-alpha for the shop.")


@pytest.mark.parametrize(
    ("calls", "faults"),
    [
        ([failed("shell/execute_command", {"command": "python fetch.py"}, NO_DNS)], 1),
        ([failed("shell/execute_command", {"command": "curl localhost:8080"}, REFUSED)], 0),
        ([failed("shop/login", {"token": "kx-0000-guess"}, "401 Unauthorized")], 0),
        ([KEY_FILE, failed("shop/login", {"token": "kx-7731-alpha"}, "401 Unauthorized")], 1),
        ([call("shell/run", {"code": "x"}), failed("shell/run", {}, "TypeError: 'str' object is not callable")], 0),
    ],
    ids=["no network", "nothing listens", "made-up key", "key of an answer", "no arguments"],
)
def test_a_fault_is_the_environments_where_the_call_did_not_bring_it_on_itself(
    benchmark: Benchmark, calls: list[Step], faults: int
) -> None:
    benchmark.add("ada", "t1", calls, passed=False)
    assert sum(benchmark.audit().models[0].faults.values()) == faults


@pytest.mark.parametrize(
    ("calls", "reply", "why"),
    [
        ([], "Done.", "No call was made."),
        ([failed("f/read", READ, "Error: file not found")], "Done.", "Of 1 call none is known to have succeeded."),
        (
            [call("f/read", READ, "turnover: 12")],
            "It was 48,310 euros.",
            'Nothing was written, and no answer holds what the reply says: "48,310".',
        ),
    ],
)
def test_a_passed_task_that_rests_on_nothing_is_undecided(
    benchmark: Benchmark, calls: list[Step], reply: str, why: str
) -> None:
    benchmark.add("ada", "t1", calls, passed=True, final_reply=reply)
    [task] = benchmark.audit().undecided
    assert (task.doubt, task.why, task.passed) == ("unfounded", why, True)
    assert benchmark.audit().models[0].supported == (0.0, 1.0)


@pytest.mark.parametrize(
    ("calls", "reply"),
    [
        ([call("f/read", READ, "turnover: 48310")], "It was 48,310 euros."),
        ([call("f/write_file", {**READ, "text": "x"}, "written")], "It was 48,310 euros."),
        ([call("f/read", READ, "turnover: 12")], "It went well."),
    ],
)
def test_a_passed_task_that_rests_on_something_is_decided(benchmark: Benchmark, calls: list[Step], reply: str) -> None:
    benchmark.add("ada", "t1", calls, passed=True, final_reply=reply)
    assert benchmark.audit().undecided == ()


def test_a_reference_that_fails_itself_leaves_its_task_undecided(benchmark: Benchmark, tmp_path: Path) -> None:
    reference = Benchmark(tmp_path / "reference")
    reference.add("reference", "t1", [failed("f/sum", {"a": "x"}, "Invalid argument: a must be a number")])
    reference.add("reference", "t2", [failed("f/read", READ, "Error: file not found")])
    reference.add("reference", "t3", [])
    with Run.read(make_run(reference.path / "run.db", reference.files)) as run:
        faulty = faulty_tasks(run)
    assert faulty == {"t1": "Of 1 call of its reference 1 failed.", "t3": "Its reference has no call."}
    for task in ("t1", "t2", "t3"):
        benchmark.add("ada", task, [call("f/list")], passed=False)
    found = benchmark.audit(faulty)
    assert [(task.task, task.doubt) for task in found.undecided] == [("t1", "reference"), ("t3", "reference")]
    assert {mend.name: mend.settles for mend in found.mends} == {"t1": 1, "t3": 1}


def test_what_to_mend_is_ranked_by_what_it_settles_alone(benchmark: Benchmark) -> None:
    down, limited = failed("a/read", READ, TIMED_OUT), failed("b/read", READ, "429 Too Many Requests")
    for task, calls in {"t1": [down], "t2": [down], "t3": [limited, down]}.items():
        benchmark.add("ada", task, calls, passed=False)
    benchmark.add("ada", "t4", [call("a/read", READ, "turnover: 1")], passed=True)
    first, second = benchmark.audit().mends
    assert (first.name, first.reason, first.tasks, first.settles, first.points) == ("a", "timeout", 3, 2, 50.0)
    assert (second.name, second.reason, second.tasks, second.settles) == ("b", "rate-limited", 1, 0)


def test_the_filters_beside_the_numbers_open_their_calls(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [failed("a/read", READ, TIMED_OUT)], passed=False)
    benchmark.add("ada", "t2", [call("a/read", READ, "turnover: 12")], passed=True)
    benchmark.add("bob", "t1", [failed("a/read", READ, TIMED_OUT)], passed=False)
    found = benchmark.audit()
    opened = {}
    for chosen in (found.benchmark.filter, found.models[0].filter, found.mends[0].filter):
        done = replay_here("report", "--run", benchmark.path / "run.db", "--filter", chosen, "--format", "json")
        opened[chosen] = [f"{row['model']}:{row['trajectory']}" for row in json.loads(done.stdout)["calls"]]
    assert opened == {
        "fault:environment": ["ada:t1", "bob:t1"],
        "model:ada fault:environment": ["ada:t1"],
        "server:a reason:timeout passed:no": ["ada:t1", "bob:t1"],
    }


def test_models_are_told_apart_where_their_supported_intervals_are(benchmark: Benchmark) -> None:
    for number in range(4):
        benchmark.add("ada", f"t{number}", [call("f/read", READ)], passed=True)
        lost = [failed("f/read", READ, TIMED_OUT)] if number < 2 else [call("f/read", READ)]
        benchmark.add("bob", f"t{number}", lost, passed=False)
        benchmark.add("cy", f"t{number}", [failed("f/read", READ, TIMED_OUT)], passed=False)
    pairs = {(pair.first, pair.second): pair.supported for pair in benchmark.audit().pairs}
    assert pairs == {("ada", "bob"): True, ("ada", "cy"): False}


def test_two_models_differ_by_what_compare_says_over_the_tasks_of_both_and_by_their_reported_scores(
    benchmark: Benchmark,
) -> None:
    for task, ada, bob in (("t1", True, False), ("t2", True, False), ("t3", False, True), ("t4", True, None)):
        benchmark.add("ada", task, [call("f/read", READ)], passed=ada)
        if bob is not None:
            benchmark.add("bob", task, [call("f/read", READ)], passed=bob)
    benchmark.add("bob", "t5", [call("f/read", READ)])
    found = benchmark.audit()
    with Run.read(benchmark.path / "run.db") as run:
        [compared] = compare_models(run).differences
    [pair] = found.pairs
    assert (pair.first, pair.second, pair.common_tasks) == (compared.first, compared.second, compared.tasks)
    assert pair.paired_difference == compared.difference == pytest.approx(1 / 3)
    assert pair.difference == pytest.approx(3 / 4 - 1 / 3)
    for form in ("text", "markdown", "html"):
        shown = render(found, form, 120)
        assert "over common tasks" in shown
        assert "33.3 over 3 tasks" in shown
        assert "41.7" in shown


def test_tasks_that_were_run_several_times_have_pass_at_k(benchmark: Benchmark) -> None:
    for number, passed in enumerate((True, False, True)):
        benchmark.add("ada", f"t1-{number}", [call("f/read", READ)], passed=passed, task={"id": "t1"})
        benchmark.add("ada", f"t2-{number}", [call("f/read", READ)], passed=True, task={"id": "t2"})
    [row] = benchmark.audit().trials
    assert (row.tasks, row.runs, row.flipping) == (2, 3, ("t1",))
    assert {k: figure.value for k, figure in row.pass_at.items()} == {1: pytest.approx(5 / 6), 2: 1.0, 3: 1.0}
    assert [figure.value for figure in row.pass_all.values()] == pytest.approx([5 / 6, (1 / 3 + 1) / 2, 0.5])
    assert [row.pass_at[1].low, row.pass_at[1].high] == pytest.approx([2 / 3, 1])


def test_a_task_that_flips_tells_the_call_at_which_its_runs_part(benchmark: Benchmark) -> None:
    listed = call("f/list", {"path": "/data"}, "report.csv")
    good, bad = call("f/read", READ, "turnover: 12"), failed("f/read", {"path": "/data/repot.csv"}, "no such file")
    benchmark.add("ada", "t1-0", [good], passed=True, task={"id": "t1"})
    benchmark.add("ada", "t1-1", [listed, bad], passed=False, task={"id": "t1"})
    found = benchmark.audit()
    [parting] = found.partings
    why = "Both call f/read; t1-0's call was judged success, t1-1's not found."
    assert (parting.task, parting.why) == ("t1", why)
    assert (parting.first.call, parting.second.call) == ("s1c1", "s2c1")
    assert "ada:t1-1: s2c1 f/read (not found)" in render(found, "text", 400)


def test_values_that_came_from_other_answers_are_no_difference_where_their_calls_go_together(
    benchmark: Benchmark,
) -> None:
    for model, drawn, passed in (("ada", "ord-48213", True), ("bob", "ord-97341", False)):
        calls = [call("shop/order", {"item": "kettle"}, f"created {drawn}"), call("shop/pay", {"id": drawn}, "paid")]
        last = call("shop/ship", {"id": drawn}, "shipped") if passed else call("shop/void", {"id": drawn}, "gone")
        benchmark.add(model, f"t1-{model}", [*calls, last], passed=passed, task={"id": "t1"})
    [parting] = benchmark.audit().partings
    why = "ada calls shop/ship (s3c1); bob calls shop/void (s3c1) there."
    assert (parting.first.call, parting.why) == ("s3c1", why)


def test_without_reported_success_the_faults_are_still_counted(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [failed("f/read", READ, TIMED_OUT)])
    found = benchmark.audit()
    assert (found.models[0].reported, found.models[0].faults["on-path"]) == (None, 1)
    assert [fault.bearing for fault in found.decided] == ["on-path"]
    assert "do not say which tasks passed" in found.notes[0]
    assert "1 fault of the environment: 1 on path" in render(found, "text")


def test_a_task_of_one_model_alone_is_told(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [call("f/read")], passed=True)
    benchmark.add("ada", "t2", [call("f/read")], passed=True)
    benchmark.add("bob", "t1", [call("f/read")], passed=True)
    assert "ada has 1 task that not every other model has." in benchmark.audit().notes


def test_scores_that_are_not_pass_or_fail_are_told(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [call("f/read")], reported={"score": 0.7})
    assert "1 run of tasks have a score and no pass or fail; only the latter is audited." in benchmark.audit().notes


def test_a_success_that_its_score_contradicts_is_told(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [call("f/read")], reported={"passed": True, "score": 0.0})
    benchmark.add("ada", "t2", [call("f/read")], reported={"passed": False, "score": 1.0})
    benchmark.add("ada", "t3", [call("f/read")], reported={"passed": True, "score": 1.0})
    found = benchmark.audit()
    assert "2 runs passed with a score of 0 or lost with the full score; pass or fail is taken." in found.notes
    assert (found.models[0].runs, found.models[0].passed) == (3, 2)


def test_a_reference_for_other_tasks_is_told(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [call("f/read")], passed=False)
    found = benchmark.audit({"t9": "Its reference has no call."})
    assert (found.undecided, found.notes) == ((), ("The reference has 1 faulty task that no model ran.",))


def test_faults_are_verified_by_replaying_their_trajectories_on_the_fleet(
    benchmark: Benchmark, replay: Any, fleet_file: Any, tmp_path: Path
) -> None:
    (tmp_path / "faults.json").write_text(json.dumps([{"tool": "read_mail", "how": TIMED_OUT}]))
    office = {
        "command": sys.executable,
        "args": [str(SERVERS / "office.py")],
        "env": {"FAULTS": str(tmp_path / "faults.json")},
        "effects": "all",
    }
    long = call("office/search", {"query": "kettle"}, "x" * 300_000)
    read = failed("office/read_file", {"path": "/data/q1.csv"}, TIMED_OUT)
    benchmark.add("ada", "gone", [long, read], passed=False, question="Sum up /data/q1.csv.")
    benchmark.add("ada", "there", [failed("office/read_mail", {"id": "m-2041"}, TIMED_OUT)], passed=False)
    benchmark.add("ada", "elsewhere", [failed("other/read", READ, TIMED_OUT)], passed=False)
    servers = fleet_file(office=office)
    printed = replay("audit", *benchmark.files, "--verify", "--servers", servers, "--json")
    assert printed.returncode == 0, printed.stderr
    verified = {task["task"]: task["faults"][0]["verified"] for task in json.loads(printed.stdout)["undecided"]}
    assert verified == {"gone": "gone", "there": "still there", "elsewhere": "cannot be repeated"}


def test_runs_of_a_task_are_told_apart_and_each_has_its_own_faults(benchmark: Benchmark) -> None:
    gone = [failed("files/read", READ, TIMED_OUT)]
    benchmark.add("ada", "run-1/t1", gone, passed=False)
    benchmark.add("ada", "run-2/t1", [*gone, call("files/read", READ, "turnover: 12")], passed=False)
    found = benchmark.audit()
    assert [[fault.bearing for fault in found.faults_of(run)] for run in found.runs] == [["on-path"], ["recovered"]]
    assert "  run-1:t1: lost" in render(found, "text")
    [task] = verified(found, {}).undecided
    assert (Path(task.file).parent.name, task.faults[0].verified) == ("run-1", "cannot be repeated")


def test_a_call_issued_again_is_gone_still_there_or_cannot_be_repeated(benchmark: Benchmark) -> None:
    for task in ("t1", "t2", "t3"):
        benchmark.add("ada", task, [failed("f/read", READ, TIMED_OUT)] * 2, passed=False)
    found = benchmark.audit()
    with Run.read(benchmark.path / "run.db") as run:
        rows = {(row.file, row.trajectory, row.call): row for row in call_rows(run)}
    given = {("t1", "s1c1"): "success", ("t2", "s1c1"): "success", ("t2", "s2c1"): Outcome.INCONCLUSIVE}
    again = {
        (file, task, position): row.model_copy(update={"replayed": given[task, position]})
        for (file, task, position), row in rows.items()
        if (task, position) in given
    }
    results = [task.faults[0].verified for task in verified(found, again).undecided]
    assert results == ["gone", "still there", "cannot be repeated"]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_every_form_names_the_task_and_its_call_and_escapes_what_a_model_wrote(benchmark: Benchmark, form: str) -> None:
    benchmark.add("<b>ada</b>", "t1", [failed("files/read", READ, TIMED_OUT)], passed=False)
    benchmark.add("bob", "t1", [failed("files/read", READ, TIMED_OUT)])  # the recording does not say whether it passed
    text = render(benchmark.audit(), form)
    assert "t1" in text
    assert "s1c1" in text
    if form == "json":
        schema = json.loads((ROOT / "schemas" / "audit.schema.json").read_text())
        jsonschema.validate(json.loads(text), schema)
    elif form != "text":
        assert "<b>ada" not in text


def test_every_number_of_the_page_leads_to_the_tasks_and_calls_that_it_counts(benchmark: Benchmark) -> None:
    benchmark.add("ada", "t1", [failed("files/read", READ, TIMED_OUT)], passed=False)
    benchmark.add("ada", "t2", [failed("files/read", READ, TIMED_OUT), call("files/read", READ, "12.5")], passed=False)
    benchmark.add("bob", "t1", [call("files/read", READ, "turnover 12.5")], passed=True)
    found = benchmark.audit()
    page = render(found, "html")
    led = dict(re.findall(r'<a href="#([^"]+)">(\d+)', page))
    parts = dict(re.findall(r'<section class="behind" id="([^"]+)">(.*?)</section>', page, re.DOTALL))
    assert led.keys() == parts.keys() >= {"0-passed", "1-lost", "1-undecided-lost", "2-faults", "mend-0"}
    counted = {target: part.count("<tr>") - 1 for target, part in parts.items() if not target.endswith("passed")}
    assert counted == {target: int(number) for target, number in led.items() if not target.endswith("passed")}
    assert "ada:t1" in parts["mend-0"]
    assert "recovered: s1c1 files/read: timeout" in parts["1-lost"]
    assert [run.task for run in found.behind("recovered", "ada")] == ["t2"]


def test_a_run_without_trajectories_is_one_sentence(tmp_path: Path) -> None:
    with Run.open(tmp_path / "run.db"):
        pass
    with Run.read(tmp_path / "run.db") as run, pytest.raises(UsageError, match="there is no trajectory to audit"):
        audit(run)


def test_the_command_writes_what_the_name_of_its_output_says(benchmark: Benchmark, replay: Any, tmp_path: Path) -> None:
    benchmark.add("ada", "t1", [failed("files/read", READ, TIMED_OUT)], passed=False)
    printed = replay("audit", benchmark.files[0])
    assert printed.returncode == 0
    assert "0.0 to 100.0 %" in printed.stdout
    assert replay("audit", benchmark.files[0], "-o", "audit.md").returncode == 0
    assert (tmp_path / "audit.md").read_text().startswith("# How much of each score is the model's")
    again = replay("audit", benchmark.files[0], "-o", "audit.md")
    assert (again.returncode, "--force" in again.stderr) == (2, True)
