"""Takes as many seconds to start as env START_SECONDS says."""

import os
import time

from raw import serve, text, tool

time.sleep(float(os.environ.get("START_SECONDS", "1")))
serve([tool("echo", "text")], lambda name, arguments: text(arguments["text"]), name="slow-start")
