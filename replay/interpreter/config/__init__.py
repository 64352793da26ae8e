"""The fleet file: which servers there are, how each starts, and what it may do."""
