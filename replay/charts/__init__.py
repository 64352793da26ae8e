"""Charts for papers and slides: each is data, rows and columns, and how they are drawn. Only `canvas` knows matplotlib."""
