"""What `migrate trace` puts into the Python processes of a program, under a private name.

It imports the rewriter at the end of such a process, to judge graphs, and for layers of Keras when they are built.

`migrate trial` uses its watcher of sessions, too.
"""
