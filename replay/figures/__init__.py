"""Figures for papers and slides, drawn from plain rows and columns. Only `canvas` knows matplotlib, an extra."""
