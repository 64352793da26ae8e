"""Writes to stderr (a colour, the secret in env API_KEY) and exits with status 3."""

import os
import sys

sys.stderr.write("loading\n\x1b[31mError: no licence for " + os.environ.get("API_KEY", "nobody") + "\x1b[0m\n")
sys.exit(3)
