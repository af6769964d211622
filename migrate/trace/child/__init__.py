"""What `migrate trace` puts into the Python processes of a program, under a private name; it imports nothing of ours.

`migrate trial` uses its watcher of sessions, too.
"""
