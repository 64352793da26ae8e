"""Never answers anything; leaves when stdin ends."""

import sys

for _ in sys.stdin:
    pass
