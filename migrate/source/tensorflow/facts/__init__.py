"""What a program says about its tables and their training. Nothing here decides or changes text."""
