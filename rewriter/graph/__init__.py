"""Graphs as they are: a view of one, files, the names of a MetaGraph, the lines that built ops. Changes nothing."""
