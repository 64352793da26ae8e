"""The table of `classify` fits the terminal, and says of what its shares are."""

from __future__ import annotations

import pytest

from replay.outcomes.error_report import CRASHED
from replay.records import Outcome, Reason
from replay.records.summary import Disagreements, FailureGroup, ModelSummary, RootCause, RunSummary
from replay.reports.summary import summary_text


def counts(*numbers: int) -> dict[Outcome, int]:
    return dict(zip(Outcome, numbers, strict=True))


def model(name: str, *numbers: int, **reasons: int) -> ModelSummary:
    return ModelSummary(
        model=name,
        files=("a.json",),
        trajectories=3,
        calls=sum(numbers),
        outcomes=counts(*numbers),
        reasons={Reason(reason.replace("_", "-")): count for reason, count in reasons.items()},
    )


FEW = model("gemini-2.5-flash-preview", 12, 3, 40, 31, 100, 1289, server_unavailable=900, not_in_fleet=389)
MANY = model("o3", 12, 3, 400, 310, 700, 75, timeout=75)
GROUP = FailureGroup(
    server="excel",
    tool="write_data_to_excel",
    outcome=Outcome.NOT_FOUND,
    rule="answer.missing",
    calls=310,
    alike=310,
    example="00060000:s7c1",
    example_file="a.json",
    example_trajectory="00060000",
    example_call="s7c1",
    example_message="The thing asked for is not there: [Errno 2] No such file or directory: '/workspace/march.xlsx'",
)


def summary(*models: ModelSummary) -> RunSummary:
    cause = RootCause(
        address="sales-report:s1c1",
        file="a.json",
        trajectory="sales-report",
        call="s1c1",
        tool="excel/create_workbook",
        outcome=Outcome.INVALID_ARGUMENTS,
        followed={Outcome.NOT_FOUND: 3},
    )
    return RunSummary(
        models=models,
        model_count=len(models),
        outcomes={outcome: sum(one.outcomes[outcome] for one in models) for outcome in Outcome},
        reasons={},
        failures=(GROUP,),
        inconclusive=(GROUP,),
        root_causes=(cause,),
        disagreements=Disagreements(compared=50, calls=4, by_recording=4, absent_paths=4, absent_below="/workspace/w"),
    )


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(width: int) -> None:
    text = summary_text(summary(FEW, MANY), width)
    assert max(map(len, text.splitlines())) <= width
    words = set(GROUP.example_message.split()) | {"…"}
    shown = text.split("What went wrong most")[1].split("Root causes")[0].split("s7c1")[1]
    assert set(shown.split()) <= words


def test_a_share_says_of_what_it_is() -> None:
    lines = summary_text(summary(FEW, MANY), 80).splitlines()
    assert "186 of 1,475 (13 %)" in lines[2]
    assert "1,425 of 1,500 (95 %)" in lines[3]


def test_where_few_calls_were_judged_the_line_is_dimmed_and_it_says_why() -> None:
    lines = summary_text(summary(FEW, MANY), 120, lambda line: f"<dim>{line}").splitlines()
    assert [line.startswith("<dim>") for line in lines[2:5]] == [True, False, False]
    reason = "gemini-2.5-flash-preview: few calls were judged, so its shares say little"
    assert any(line.startswith(reason) for line in lines)
    assert "900 server-unavailable, 389 not-in-fleet" in "\n".join(lines)


def test_what_disagrees_with_its_recording_has_a_line_of_its_own() -> None:
    lines = summary_text(summary(MANY), 100).splitlines()
    assert "Disagree with their recording: 4 of 50 re-issued calls, 4 of them judged by the recording" in lines


def test_a_wide_terminal_shows_the_shares_to_the_tenth() -> None:
    assert "700  49.1%" in summary_text(summary(FEW, MANY), 160)


def test_of_very_many_models_the_first_hundred_have_a_line_and_all_are_counted() -> None:
    many = [FEW.model_copy(update={"model": f"model-{number}"}) for number in range(130)]
    text = summary_text(summary(*many), 160)
    assert "model-99 " in text
    assert "model-100" not in text
    assert "(the first 100 of 130 models; replay compare has all)" in text
    assert f"{130 * FEW.calls:,}".replace(",", "") in text.replace(",", "")
    assert text.count("few calls were judged, so") == 5
    assert "few calls were judged of 95 more models as well" in text


def test_an_address_is_whole_at_80_columns_on_a_line_of_its_own_if_need_be() -> None:
    address = f"{'a-model-with-a-long-name'}:{'a-task-that-goes-on-' * 2}:s7c1"
    long = GROUP.model_copy(update={"example": address})
    text = summary_text(summary(FEW, MANY).model_copy(update={"failures": (long,), "inconclusive": ()}), 80)
    assert f"      {address}" in text.splitlines()
    assert max(map(len, text.splitlines())) <= 80


def test_what_a_check_of_arguments_says_before_it_says_anything_is_left_out() -> None:
    said = "The server's check of the arguments failed: 1 validation error for search_worksArguments q Field required"
    group = GROUP.model_copy(update={"example_message": said})
    text = summary_text(summary(FEW).model_copy(update={"failures": (group,)}), 200)
    assert "The server's check of the arguments failed: q Field required" in text


def test_what_a_crash_said_stands_in_the_table() -> None:
    group = GROUP.model_copy(update={"example_message": f"{CRASHED}: FileNotFoundError: sample-12"})
    text = summary_text(summary(FEW).model_copy(update={"inconclusive": (group,)}), 160)
    assert "FileNotFoundError: sample-12" in text
