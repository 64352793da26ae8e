"""Prints a byte order mark and a banner that does not end its line before the first answer."""

import sys

from raw import serve, text, tool

sys.stdout.write("\ufeffServer is running... ")
serve([tool("echo", "text")], lambda name, arguments: text(arguments["text"]), name="banner")
