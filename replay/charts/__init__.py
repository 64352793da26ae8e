"""Charts for papers and slides: each is data, rows and columns, and a drawing. Only `canvas` knows matplotlib."""
