"""Text from servers and models is hostile."""
