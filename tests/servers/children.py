"""Starts a child that ignores SIGTERM; `pids` tells both process ids; closing stdin does not end it."""

import json
import os
import signal
import subprocess
import sys
import time

from raw import serve, text, tool

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
serve([tool("pids")], lambda name, arguments: text(json.dumps([os.getpid(), child.pid])), name="children")
time.sleep(3600)
