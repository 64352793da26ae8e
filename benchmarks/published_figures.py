"""Figures that papers print, made again by `replay compare` from what their files and tables hold.

    python benchmarks/published_figures.py --papers DIR --toolathlon DIR

`--papers` is a folder with the text of the MCP-Bench and TOBench papers (`*.txt`), `--toolathlon` one with the
published trajectories (`MODEL_TASK.json`). Each part is left out where its folder is not given.
`published_figures.md` keeps what it prints.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

RATES = ("valid_tool_name_rate", "input_schema_compliance", "execution_success_rate")
DIMENSIONS = (
    *("task_fulfillment", "grounding", "tool_appropriateness"),
    *("parameter_accuracy", "dependency_awareness", "parallelism_and_efficiency"),
)
STRATA = {
    ("Customer Service", "easy"): 29,
    ("Customer Service", "medium"): 28,
    ("Customer Service", "hard"): 10,
    ("Intelligent Creation", "easy"): 10,
    ("Intelligent Creation", "medium"): 10,
    ("Intelligent Creation", "hard"): 13,
}
"""TOBench's 100 tasks, in the order of its Table 2; the shares of the models that ran on all of them tell the sizes."""
FEW_MISSING = 3
"""Tasks of a stratum that a model may lack, and one more."""
ROUNDING = 0.001
"""Between a printed overall score and that of its printed parts: all of them are rounded to the third digit."""
FUNCTION = {"id": "1", "type": "function", "function": {"name": "files-read", "arguments": "{}"}}
MESSAGES = [
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": None, "tool_calls": [FUNCTION]},
    {"role": "tool", "tool_call_id": "1", "content": "this"},
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--papers", type=Path, help="a folder with the papers' text")
    arguments.add_argument("--toolathlon", type=Path, help="a folder with the published trajectories")
    options = arguments.parse_args()
    papers = [path.read_text("utf-8") for path in sorted(options.papers.glob("*.txt"))] if options.papers else []
    for text in papers:
        if rows := list(mcpbench_rows(text)):
            mcpbench(rows)
        if shares := tobench_shares(text):
            tobench(shares)
    if options.toolathlon:
        toolathlon(options.toolathlon)


def compared(*words: str | Path) -> dict[str, Any]:
    """What `replay compare --json` says."""
    command = [sys.executable, "-m", "replay", "compare", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: a file was not read
        sys.exit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class BenchRow(NamedTuple):
    """A line of MCP-Bench's Table 3."""

    model: str
    rates: tuple[float, ...]
    dimensions: tuple[float, ...]
    overall: float


def mcpbench_rows(text: str) -> Iterator[BenchRow]:
    """The lines of Table 3: a model, three rates in per cent, six dimensions, the overall score."""
    table = text.partition("Table 3: Leaderboard on MCP-BENCH")[2].partition("Table 4")[0]
    for line in table.splitlines():
        model, *cells = line.split("\t")
        if len(cells) == len(RATES) + len(DIMENSIONS) + 1 and cells[0].endswith("%"):
            numbers = [float(cell.rstrip("%")) / (100 if cell.endswith("%") else 1) for cell in cells]
            yield BenchRow(model, tuple(numbers[:3]), tuple(numbers[3:9]), numbers[9])


def mcpbench(rows: Sequence[BenchRow]) -> None:
    """The overall column, from a results file that records the others."""
    call = {"tool": "read", "server": "files", "round": 1, "parameters": {}, "success": True, "result": "this"}
    tasks = {
        row.model: [
            {
                "task_id": "mean",
                "execution_results": [call],
                "evaluation": {
                    **dict(zip(RATES, row.rates, strict=True)),
                    **{name: 10 * score for name, score in zip(DIMENSIONS, row.dimensions, strict=True)},
                },
            }
        ]
        for row in rows
    }
    with TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark_results.json"
        path.write_text(json.dumps({"task_run_results": tasks}))
        models = {model["model"]: model["figures"] for model in compared(path)["models"]}
    print("\n## MCP-Bench, Table 3\n\n| model | printed | made again |\n| --- | ---: | ---: |")
    values = []
    for row in rows:
        value = models[row.model]["mcpbench_overall"]["value"]
        values.append((value, row.overall))
        print(f"| {row.model} | {row.overall:.3f} | {value:.4f} |")
    digits, near = (sum(abs(value - printed) <= most for value, printed in values) for most in (0.0005, ROUNDING))
    print(f"\nTo the third digit: {digits} of {len(rows)} rows; within what the rounding of the parts leaves: {near}.")


def tobench_shares(text: str) -> dict[str, list[float]]:
    """The shares of Table 2 by model: six strata and the average, in per cent."""
    table = text.replace("\\", "").partition("Main results on TOBench")[2][:4_000]
    found = {}
    for model in ("GPT-5", "GPT-4o", "Claude-Opus-4.6", "Gemini-3.1-Pro", "Qwen3.5-Plus"):
        if match := re.search(re.escape(model) + r"(?=\d{1,2}\.\d\d\d)" + r"(\d{1,2}\.\d\d)" * 7, table):
            found[model] = [float(share) for share in match.groups()]
    return found


def counts_of(shares: Sequence[float]) -> list[tuple[int, int]]:
    """How many of how many tasks of each stratum passed; the fewest tasks are missing that give the average too."""
    choices = [
        [(passed, size) for size in range(most, most - FEW_MISSING, -1) for passed in _whole(share, size)]
        for share, most in zip(shares, STRATA.values(), strict=False)
    ]
    fitting = [
        counts
        for counts in product(*choices)
        if round(100 * sum(k for k, _ in counts) / sum(n for _, n in counts), 2) == shares[-1]
    ]
    return list(max(fitting, key=lambda counts: sum(n for _, n in counts)))


def _whole(share: float, size: int) -> list[int]:
    passed = round(share * size / 100)
    return [passed] if round(100 * passed / size, 2) == share else []


def tobench(shares: dict[str, list[float]]) -> None:
    """Table 2's strata and averages, from task runs that say whether they passed."""
    with TemporaryDirectory() as folder:
        for model, row in shares.items():
            records = [
                {"pass": number < passed, "family": family, "difficulty": difficulty, "messages": MESSAGES}
                for (family, difficulty), (passed, size) in zip(STRATA, counts_of(row), strict=True)
                for number in range(size)
            ]
            path = Path(folder) / f"{model}.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        answer = compared(folder, "--names", "{model}.jsonl", "--by", "family,difficulty", "--metric", "task_success")
    strata = {(row["model"], row["stratum"]): row["figures"]["task_success"] for row in answer["strata"]["rows"]}
    names = answer["strata"]["names"]
    print(f"\n## TOBench, Table 2\n\n| model | {' | '.join(names)} | all | printed |")
    print("| --- |" + " ---: |" * (len(names) + 2))
    for model in answer["models"]:
        name, figure = model["model"], model["figures"]["task_success"]
        cells = [_passed(strata[name, stratum]) for stratum in names]
        print(f"| {name} | {' | '.join(cells)} | {_passed(figure)} | {shares[name][-1]:.2f} % |")


def _passed(figure: dict[str, Any]) -> str:
    return f"{round(figure['value'] * figure['n'])} of {figure['n']} ({100 * figure['value']:.2f} %)"


def toolathlon(folder: Path) -> None:
    """The pass rates of the published runs."""
    models = compared(folder, "--names", "{model}_{task}.json")["models"]
    print("\n## Toolathlon, the published runs\n\n| model | runs | passed | without a verdict |")
    print("| --- | ---: | ---: | ---: |")
    for model in models:
        figure = model["figures"]["task_success"]
        unknown = model["trajectories"] - figure["n"]
        print(f"| {model['model']} | {model['trajectories']} | {_passed(figure)} | {unknown} |")


if __name__ == "__main__":
    main()
