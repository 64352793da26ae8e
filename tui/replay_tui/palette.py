"""The command palette: every action of where one is, and any task, tool or model by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from replay.records import qualified_name
from replay.runfile import trajectory_queries
from replay.runfile.filters import filter_value
from replay.safety.text import one_line
from replay_tui.browser import Browser, ShowCalls, ShowTrajectory

_MAX_SHOWN = 12
_MOVES = 4
_LEFT_OUT = frozenset({"command_palette", "back", "app.focus_next", "app.focus_previous"})


class ActionProvider(Provider):
    """The actions of the keys."""

    async def discover(self) -> Hits:
        """All of them."""
        for name, words, run in self._actions():
            yield DiscoveryHit(name, run, help=words)

    async def search(self, query: str) -> Hits:
        """Those whose name or purpose fits."""
        matcher = self.matcher(query)
        for name, words, run in self._actions():
            # What begins so comes before names that hold it, and those before what only resembles it.
            begins = name.lower().startswith(query.lower())
            score = max(matcher.match(name), matcher.match(words) * 0.8) + 20 * begins
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, text=name, help=words)

    def _actions(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """Each action once, with its key: those of the screen, those of the browser, and those of the list with the
        focus; the keys that only move a cursor are left out, as are those that Textual brings.
        """
        there: dict[str, ActiveBinding] = {}
        for active in self.screen.active_bindings.values():
            action = active.binding.action
            if active.tooltip and action not in _LEFT_OUT and (action not in there or active.binding.show):
                there[action] = active
        for active in sorted(there.values(), key=self._rank):
            binding = active.binding
            if self._rank(active) < _MOVES:
                key = self.app.get_key_display(binding)
                run = partial(self.app.run_action, binding.action, active.node)
                yield binding.description, f"{key}  {active.tooltip}", run

    def _rank(self, active: ActiveBinding) -> int:
        if active.node is self.screen:
            return 0 if active.binding.show else 1
        if active.node is self.app:
            return 2
        return 3 if active.binding.show else _MOVES


class NameProvider(Provider):
    """Tasks, tools and models."""

    async def search(self, query: str) -> Hits:
        """What has this in its name."""
        wanted = query.strip().lower()
        if not wanted:
            return
        open_run = cast("Browser", self.app).open_run
        names = [(name, "model", f"model:{filter_value(path)}") for _, name, path in open_run.vocabulary.models]
        names += [(server, "server", f"server:{filter_value(server)}") for server in open_run.vocabulary.servers]
        tools = [qualified_name(*tool) for tool in open_run.vocabulary.tools]
        names += [(tool, "tool", f"tool:{filter_value(tool)}") for tool in tools]
        for name, what, text in [entry for entry in names if wanted in entry[0].lower()][:_MAX_SHOWN]:
            go = partial(self.app.post_message, ShowCalls(text))
            yield _hit(f"{what} {name}", _rank(name, wanted), go, "its calls")
        for task in trajectory_queries.find_tasks(open_run.connection, query.strip(), _MAX_SHOWN):
            go = partial(self.app.post_message, ShowTrajectory(task.row))
            yield _hit(
                f"task {task.name} · {task.model} · {task.task_type}", _rank(task.name, wanted), go, "its trajectory"
            )


def _hit(label: str, score: float, run: Callable[[], object], words: str) -> Hit:
    plain = one_line(label, 100)
    return Hit(score, Content(plain), run, text=plain, help=words)


def _rank(name: str, wanted: str) -> float:
    """Names that are what was typed, then those that begin so."""
    lower = name.lower()
    return 10 + (lower.startswith(wanted) or lower.rpartition("/")[2].startswith(wanted)) + 2 * (lower == wanted)
