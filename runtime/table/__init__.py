"""A table as TensorFlow sees it: its arguments, its anchor, its resource, its place in a graph."""
