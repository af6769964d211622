"""What functions of Python and its libraries do with values, and methods of lists, dicts and sets."""
