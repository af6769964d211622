"""What `migrate run` puts into the Python processes of a program: it calls `rewriter.install` once TensorFlow is there.

It is loaded under another name, into the program's own Python, so it imports nothing but Python's library until then.
"""
