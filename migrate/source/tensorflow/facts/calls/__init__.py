"""The call graph: call sites and results of functions, how often and in which order they run, and their scopes."""
