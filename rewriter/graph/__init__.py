"""Read access to graphs: a view, files, names in a MetaGraph, the source lines of ops."""
