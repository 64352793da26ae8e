"""Whose a failure is: the conditions of rules that tell the call, the thing asked for and the environment apart."""
