"""The rules: what a lookup and an update look like in a graph, one kind a file."""
