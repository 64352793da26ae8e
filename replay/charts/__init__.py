"""A chart is data, rows and columns and what they mean; `svg` draws those of pages, `matplotlib_` those of papers."""
