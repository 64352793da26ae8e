from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from textual.command import CommandList
from textual.pilot import Pilot
from textual.widgets import Input, Tab, Tabs
from textual.widgets._footer import FooterKey

from replay.records import Call, Outcome, Reason
from replay.runfile import Run
from replay_tui.app import BrowseApp
from replay_tui.rendering import news, news_first
from replay_tui.screens.calls_screen import CallsScreen
from replay_tui.screens.compare_screen import CompareScreen
from replay_tui.screens.dialogs import ExportScreen, HelpScreen, WholeTextScreen
from replay_tui.screens.overview_screen import OverviewScreen
from replay_tui.screens.run_screen import LineTabs, RunScreen
from replay_tui.screens.trajectory_screen import TrajectoryScreen
from replay_tui.widgets.counts_table import CountsTable
from replay_tui.widgets.dag_view import DagView
from replay_tui.widgets.filter_line import FilterLine
from replay_tui.widgets.text_page import TextPage
from tests.runs import call, failed, make_run, write_trajectory
from tests.tui.conftest import Browsing, press, screen_text, settle, wait_until, write
from tests.tui.sample import judged, long_run, trajectory_of, written

pytestmark = pytest.mark.anyio


async def test_the_overview_counts_each_model_and_what_went_wrong_where(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        shown = screen_text(pilot)
        assert "10 calls · 4 trajectories" in shown
        assert "ada" in shown
        assert "bob" in shown
        assert "tmdb/film" in shown
        assert "answer.gone" in shown


async def test_tabs_that_an_app_took_away_while_it_closed_are_no_error(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        tabs = pilot.app.screen.query(LineTabs).first()
        await tabs.query("Tab").remove()
        tabs.current = "trajectory"
        assert tabs.current == ""


MODELS = {f"accounts/fireworks/models/{name}": name[-9:] for name in ("minimax-m3", "kimi-k2-0905")}
MODELS |= {"claude-opus-4-1": "claude-op"}
"""Each with what of it tells it from the others."""


@pytest.mark.parametrize("size", [(80, 24), (112, 30), (120, 36)])
async def test_models_with_long_names_are_told_apart_and_leave_room_for_what_happened(
    browse: Browsing, size: tuple[int, int], tmp_path: Path
) -> None:
    steps = [call("Read", {"path": "a"}), failed("Read", {"path": "b"}, "File does not exist: b")]
    files = [
        write_trajectory(tmp_path / f"{number}.trajectory.json", steps, model=model, reported={"passed": True})
        for number, model in enumerate(MODELS)
    ]
    async with browse(make_run(tmp_path / "run.db", files), size=size) as pilot:
        for screen in ("1", "2", "6", "7"):
            await press(pilot, screen)
            rows = screen_text(pilot).splitlines()
            for part in MODELS.values():
                assert any(part in row for row in rows), f"{screen}: {part}"
            if screen == "2":
                told = [row for row in rows[2:] if "Read" in row]
                assert len(told) == len(MODELS)
                assert all("File does not exist" in row for row in told)


async def test_a_cell_of_the_overview_becomes_a_filter(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "right", "right", "enter")
        screen = cast("CallsScreen", pilot.app.screen)
        assert screen.filter.text == "model:ada outcome:not_found"
        assert screen.table.row_count() == 2


async def test_a_tool_of_the_overview_becomes_a_filter(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        pilot.app.screen.query_one("#tools").focus()
        await press(pilot, "down", "enter")
        screen = cast("CallsScreen", pilot.app.screen)
        assert screen.filter.text.startswith("tool:")
        assert screen.table.row_count() >= 1


async def test_the_breakdown_of_one_model_and_shares(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "down", "a")
        assert "Servers · bob" in screen_text(pilot)
        await press(pilot, "percent_sign")
        assert "66.7%" in screen_text(pilot)


async def test_few_lines_show_one_breakdown_at_a_time(browse: Browsing, sample: Path) -> None:
    async with browse(sample, size=(80, 24)) as pilot:
        panels = pilot.app.screen.query_one("#panels", Tabs)
        assert panels.active_tab is not None
        assert str(panels.active_tab.label) == "Servers"
        await press(pilot, "right_square_bracket")
        assert str(panels.active_tab.label) == "Tools"
        assert pilot.app.focused is pilot.app.screen.query_one("#tools", CountsTable)


async def test_the_filter_completes_and_narrows(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "slash")
        await write(pilot, "out")
        assert "outcome of the call" in screen_text(pilot)
        await press(pilot, "tab")
        await write(pilot, "inv")
        await press(pilot, "tab", "enter")
        screen = cast("CallsScreen", pilot.app.screen)
        assert screen.filter.text == "outcome:invalid_arguments"
        assert screen.table.row_count() == 1
        assert screen.table.has_focus


async def test_words_are_looked_for_in_arguments_and_verdicts(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "slash")
        await write(pilot, "sheet-0000")
        assert cast("CallsScreen", pilot.app.screen).table.row_count() == 1


async def test_a_mistake_in_the_filter_is_told_with_the_nearest_name(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "slash")
        await write(pilot, "server:exel")
        await press(pilot, "enter")
        assert "nearest: excel" in screen_text(pilot)
        await press(pilot, "escape")
        assert pilot.app.screen.query_one(FilterLine).field.value == "outcome:failed"
        assert "nearest" not in screen_text(pilot)


async def test_the_list_opens_on_the_failures_and_a_filter_that_is_typed_takes_their_place(
    browse: Browsing, sample: Path
) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        screen = cast("CallsScreen", pilot.app.screen)
        assert (screen.filter.text, screen.table.row_count()) == ("outcome:failed", 4)
        await press(pilot, "slash")
        await write(pilot, "server:excel ")
        await press(pilot, "enter")
        assert screen.filter.text == "server:excel"
        await press(pilot, "escape")
        assert (screen.filter.text, screen.table.row_count()) == ("", 10)


async def test_enter_takes_the_completion_that_is_shown(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "slash")
        await write(pilot, "outc")
        await press(pilot, "enter")
        screen = cast("CallsScreen", pilot.app.screen)
        assert screen.query_one(FilterLine).field.value == "outcome:"
        await write(pilot, "not")
        await press(pilot, "enter")
        assert screen.filter.text == "outcome:not_found"
        assert screen.table.has_focus


async def test_what_the_answer_says_stands_before_what_its_rule_says(browse: Browsing, sample: Path) -> None:
    async with browse(sample, size=(80, 24)) as pilot:
        await press(pilot, "2")
        assert "404 not found" in screen_text(pilot)
        assert "The backend answered" not in screen_text(pilot)


def test_only_what_a_rule_says_of_every_call_stands_behind_and_of_a_success_it_is_left_out() -> None:
    refused = "The server refuses what the arguments ask for: a path, a command or a statement that it does not allow"
    said = "Security violation: no /etc"
    assert news_first(f"{refused}: {said}", "answer.outside-the-sandbox") == f"{said} · {refused}"
    payload = "The answer is more than a sentence: a text of some length, a table, a number."
    assert news(payload, "success.payload") == ""
    assert news_first(payload, "success.payload") == payload
    assert news_first("Mine: it failed", "a-rule-of-the-user") == "Mine: it failed"


async def test_sorting_by_key_and_by_title(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "f", "s")
        table = cast("CallsScreen", pilot.app.screen).table
        assert table.order == "outcome"
        assert table.selected is not None
        assert table.selected.outcome is Outcome.UNKNOWN_TOOL
        await press(pilot, "S")
        last = table.selected
        assert last.outcome is Outcome.SUCCESS
        await pilot.click(table, offset=(2, 0))
        await settle(pilot)
        assert (table.order, table.descending) == ("outcome", False)


async def test_from_failure_to_failure_in_the_list_and_across_trajectories(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        table = cast("CallsScreen", pilot.app.screen).table
        assert table.selected is not None
        assert (table.selected.task, table.selected.position) == ("sales", "s2c1")
        await press(pilot, "n", "n")
        assert (table.selected.task, table.selected.position) == ("films", "s3c1")
        await press(pilot, "N", "enter")
        screen = cast("TrajectoryScreen", pilot.app.screen)
        assert screen.stored is not None
        assert (screen.stored.record.id, screen.dag.selected) == ("sales", "s3c1")
        await press(pilot, "n")
        assert (screen.stored.record.id, screen.dag.selected) == ("films", "s3c1")
        await press(pilot, "N", "N")
        assert (screen.stored.record.id, screen.dag.selected) == ("sales", "s2c1")


async def test_a_trajectory_shows_its_graph_and_the_call(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "enter")
        shown = screen_text(pilot)
        assert "step 1" in shown
        assert "A read_sheet" in shown
        assert "✗ type: 'many' is not of type 'integer'" in shown
        assert "arguments.schema" in shown
        assert "▲" in shown
        assert "━" in shown
        await press(pilot, "left")
        assert "Created sheet sheet-81f3" in screen_text(pilot)


async def test_the_task_and_the_raw_text_of_a_trajectory(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "3", "right_square_bracket")
        assert "What is asked in sales?" in screen_text(pilot)
        assert "That is all." in screen_text(pilot)
        await press(pilot, "right_square_bracket")
        assert "as recorded" in screen_text(pilot)
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert "Arguments" in screen_text(pilot)


async def test_the_next_trajectory_and_back(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "3", "greater_than_sign")
        screen = cast("TrajectoryScreen", pilot.app.screen)
        assert screen.stored is not None
        assert screen.stored.record.id == "films"
        await press(pilot, "less_than_sign")
        assert screen.stored.record.id == "sales"
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, OverviewScreen)


async def test_a_call_is_selected_with_the_mouse(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "3")
        dag = pilot.app.screen.query_one(DagView)
        await pilot.click(dag, offset=(35, 3))
        await settle(pilot)
        assert dag.selected == "s2c1"


async def test_a_row_is_opened_with_a_double_click(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        await pilot.click(cast("CallsScreen", pilot.app.screen).table, offset=(10, 3), times=2)
        await settle(pilot)
        assert isinstance(pilot.app.screen, TrajectoryScreen)


async def test_the_tabs_at_the_top_can_be_clicked(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await pilot.click("TopBar #tab-calls")
        await settle(pilot)
        assert isinstance(pilot.app.screen, CallsScreen)
        await pilot.click("TopBar #tab-overview")
        await settle(pilot)
        assert isinstance(pilot.app.screen, OverviewScreen)
        active = pilot.app.screen.query_one("TopBar Tab.-active", Tab)
        assert str(active.label) == "1 Overview"


async def test_the_keys_in_the_last_line_can_be_clicked(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        keys = {key.description: key for key in pilot.app.screen.query(FooterKey)}
        assert keys["Shares"].tooltip == "Show shares in per cent, or numbers"
        await pilot.click(keys["Shares"])
        await settle(pilot)
        assert "33.3%" in screen_text(pilot)


async def test_copying_a_diagnosis(browse: Browsing, sample: Path, tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "copied.md"
    async with browse(sample, clipboard_file=kept) as pilot:
        await press(pilot, "y")
        assert not kept.exists()
        await press(pilot, "2", "n", "y")
        assert "read_sheet" in pilot.app.clipboard
        assert kept.read_text() == pilot.app.clipboard


async def test_exporting_a_report(
    browse: Browsing, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with browse(sample) as pilot:
        await press(pilot, "2", "f", "n", "e")
        assert isinstance(pilot.app.screen, ExportScreen)
        await press(pilot, "enter", "enter")
        assert "read_sheet" in (tmp_path / "replay-call.md").read_text()
        await press(pilot, "e", "down", "down", "down", "enter")
        assert pilot.app.screen.query_one(Input).value == "replay-report.json"
        await press(pilot, "enter")
        assert (tmp_path / "replay-report.json").exists()
        await press(pilot, "e", "escape")
        assert isinstance(pilot.app.screen, CallsScreen)


async def test_the_source_of_a_call_is_told(browse: Browsing, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sample.parent)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    async with browse(sample, size=(200, 60)) as pilot:
        await press(pilot, "2", "n", "o")
        told = "\n".join(str(note.message) for note in pilot.app._notifications)
        assert "ada_test_mcp_fuzzy.json:3 $[0]" in told.replace("\n", "")


async def test_every_screen_explains_its_keys(browse: Browsing, sample: Path) -> None:
    async with browse(sample, size=(120, 60)) as pilot:
        for number, words in zip(
            "12345", ("All models", "Filter", "The call", "next model", "Left becomes"), strict=True
        ):
            await press(pilot, number, "question_mark")
            assert isinstance(pilot.app.screen, HelpScreen)
            page = pilot.app.screen.query_one(TextPage).text
            assert "Everywhere" in page
            assert words.lower() in page.lower()
            await press(pilot, "escape")


async def test_every_shown_key_says_what_it_does(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        for number in "12345":
            await press(pilot, number)
            for active in pilot.app.screen.active_bindings.values():
                if active.binding.show and not active.binding.system:
                    assert active.tooltip, active.binding


def offered(pilot: Pilot[None], name: str) -> bool:
    """Whether the command palette's first entry has the name."""
    entries = pilot.app.screen.query_one(CommandList).options
    return bool(entries) and name in str(entries[0].prompt)


async def test_the_palette_jumps_to_a_task_and_a_tool(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await pilot.press("ctrl+p")
        await write(pilot, "films")
        await wait_until(pilot, lambda: offered(pilot, "films"))
        await press(pilot, "enter")
        screen = cast("TrajectoryScreen", pilot.app.screen)
        assert screen.stored is not None
        assert screen.stored.record.id == "films"
        await pilot.press("ctrl+p")
        await write(pilot, "sum_sh")
        await wait_until(pilot, lambda: offered(pilot, "sum_sheet"))
        await press(pilot, "enter")
        assert cast("CallsScreen", pilot.app.screen).filter.text == "tool:excel/sum_sheet"


async def test_what_is_still_being_computed_is_not_said_to_be_nothing(
    browse: Browsing, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = RunScreen.ask
    monkeypatch.setattr(RunScreen, "ask", lambda *args: None)
    async with browse(sample) as pilot:
        for key, nothing in (("6", "no models yet"), ("7", "nothing to audit"), ("7", "no lost task")):
            await press(pilot, key)
            assert "computing …" in screen_text(pilot)
            assert nothing not in screen_text(pilot)
    monkeypatch.setattr(RunScreen, "ask", answered)
    Run.open(tmp_path / "empty.db", fresh=True).close()
    async with browse(tmp_path / "empty.db") as pilot:
        for key, nothing in (("6", "no models yet"), ("7", "nothing to audit")):
            await press(pilot, key)
            assert nothing in screen_text(pilot)
            assert "computing …" not in screen_text(pilot)


async def test_light_and_dark(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        assert pilot.app.current_theme.dark
        await press(pilot, "t")
        assert not pilot.app.current_theme.dark


async def test_two_models_are_compared(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "5")
        shown = screen_text(pilot)
        assert "2 tasks: 1 better, 0 worse" in shown
        assert "▲ better" in shown
        await press(pilot, "x")
        assert "2 tasks: 0 better, 1 worse" in screen_text(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, TrajectoryScreen)


async def test_two_runs_are_compared(browse: Browsing, tmp_path: Path) -> None:
    one = Call(position="s1c1", name="files/read", arguments={})
    paths = [
        written(tmp_path / f"{name}.db", trajectory_of([[one]]), [judged(one, outcome)])
        for name, outcome in (("before", Outcome.SUCCESS), ("after", Outcome.NOT_FOUND))
    ]
    async with browse(paths[1], against=paths[0]) as pilot:
        await press(pilot, "5")
        shown = screen_text(pilot)
        assert "(before.db)" in shown
        assert "1 call of another outcome" in shown
        assert "≠" in shown
        screen = cast("CompareScreen", pilot.app.screen)
        assert screen.pair is not None
        assert [side.schema for side in screen.pair] == ["other", "main"], "what stood before is on the left"
        assert "0 better, 1 worse" in shown


async def test_a_run_without_alignment_says_what_to_type(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "4", "m", "i", "enter")
        assert "replay align results/*.json" in screen_text(pilot)


async def test_an_empty_run(browse: Browsing, tmp_path: Path) -> None:
    Run.open(tmp_path / "empty.db").close()
    async with browse(tmp_path / "empty.db", size=(80, 24)) as pilot:
        assert "no calls yet" in screen_text(pilot)
        await press(pilot, "enter", "2", "n", "enter", "y", "3", "n", "right", "v", "4", "5", "enter", "a")
        assert "nothing to compare" in screen_text(pilot)


async def test_a_run_of_one_call(browse: Browsing, tmp_path: Path) -> None:
    one = Call(position="s1c1", name="files/read", arguments={"path": "a"})
    verdict = judged(one, Outcome.INCONCLUSIVE, reason=Reason.WITHHELD)
    async with browse(written(tmp_path / "one.db", trajectory_of([[one]]), [verdict])) as pilot:
        assert "1 call · 1 trajectory" in screen_text(pilot)
        await press(pilot, "2", "n", "enter", "left", "right", "up", "down")
        assert "withheld" in screen_text(pilot)
        assert "none recorded, and the call was not re-issued" in screen_text(pilot)


async def test_a_trajectory_of_300_calls_in_200_steps(browse: Browsing, tmp_path: Path) -> None:
    async with browse(long_run(tmp_path / "long.db")) as pilot:
        await press(pilot, "3")
        dag = pilot.app.screen.query_one(DagView)
        assert dag.selected == "s25c2"
        await press(pilot, "end")
        assert dag.selected == "s200c1"
        assert "step 200" in screen_text(pilot)
        await press(pilot, "left", "home")
        assert dag.selected == "s1c1"
        assert "━" in screen_text(pilot)


async def test_the_whole_text_is_paged(browse: Browsing, hostile: Path) -> None:
    async with browse(hostile) as pilot:
        await press(pilot, "3", "right", "v")
        assert isinstance(pilot.app.screen, WholeTextScreen)
        assert "page 1 of 10" in screen_text(pilot)
        await press(pilot, "greater_than_sign", "pagedown")
        assert "page 2 of 10" in screen_text(pilot)
        assert "AAAAAAAA" in screen_text(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, TrajectoryScreen)


async def test_a_start_filter(browse: Browsing, sample: Path) -> None:
    async with browse(sample, start="outcome:not_found") as pilot:
        assert isinstance(pilot.app, BrowseApp)
        assert cast("CallsScreen", pilot.app.screen).table.row_count() == 2
