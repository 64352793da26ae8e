"""A screen a question: how did it go, which calls, what happened here, how near to the reference, what changed."""
