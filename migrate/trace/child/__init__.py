"""What `migrate trace` puts into the Python processes of a program: it counts steps, and records graphs and lines.

It is loaded under another name, into the program's own Python. So it imports nothing but Python's library, TensorFlow
once the program has imported it, and its own modules, by relative imports.
"""
