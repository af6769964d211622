"""What `migrate trial` puts into the Python processes of a program: it takes turns, and notes steps, losses and rows.

It is loaded under another name, into the program's own Python, as the packages of `migrate run` and `migrate trace`
are, of which it uses the watcher of sessions.
"""
