"""What words say where structure does not decide: patterns, phrases, and a small trained model."""
