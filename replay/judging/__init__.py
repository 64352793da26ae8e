"""Judges on request: models that rate task runs by a paper's rubric. Nothing here is asked unless somebody says so."""
