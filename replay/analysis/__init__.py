"""From the verdicts of a run to measures: compare models, diff runs, known failures, the use of tools."""
