"""The files of a run, the import graph, and the programs that may run several files; independent of frameworks."""
