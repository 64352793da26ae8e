"""The driver on request: a model works on tasks through our own interpreter, and what it does is recorded."""
