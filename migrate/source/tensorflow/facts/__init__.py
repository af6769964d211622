"""The analysis of a program's tables and their training. This package makes no decisions and changes no text."""
