"""A widget a region of the screen."""
