"""Thin click commands: each parses options, calls one function, prints, and exits: 0 done, 1 work left, 2 failed."""
