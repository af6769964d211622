"""Models of functions from Python's standard library and of methods of lists, dicts and sets."""
