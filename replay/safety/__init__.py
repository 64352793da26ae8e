"""What a file or a stranger may not do to us: hostile text, secrets, expressions that backtrack, files half written."""
