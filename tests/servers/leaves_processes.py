"""`wait` answers after env PAUSE seconds. Ignores SIGTERM and the end of its input, and starts a process in a session
of its own, under a parent that ends at once. The file in env PIDS gets the id of each, and of this one.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from raw import serve, text, tool

STAY = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
START = f"""
import subprocess, sys
quiet = subprocess.DEVNULL
command = [sys.executable, "-c", {STAY!r}]
child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
print(child.pid)
"""

signal.signal(signal.SIGTERM, signal.SIG_IGN)
started = subprocess.run([sys.executable, "-c", START], stdout=subprocess.PIPE, text=True, check=True)
with Path(os.environ["PIDS"]).open("a", encoding="utf-8") as pids:
    pids.write(f"{os.getpid()} {Path.cwd()}\n{started.stdout.strip()} {Path.cwd()}\n")


def call(name, arguments):
    Path(os.environ["PIDS"] + ".called").touch()
    time.sleep(float(os.environ["PAUSE"]))
    return text("waited")


serve([tool("wait", annotations={"readOnlyHint": True})], call, name="leaves-processes")
time.sleep(600)
