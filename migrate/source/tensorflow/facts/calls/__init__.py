"""Functions: who calls them, what they return, how often and in which order they run, under which variable scopes."""
