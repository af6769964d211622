"""Executes a program with concrete Python values and abstract tensors, without importing or running it."""
