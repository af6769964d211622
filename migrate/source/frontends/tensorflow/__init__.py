"""TensorFlow sources: variables that are looked up become dynamic tables.

Nothing is imported here: rules import what is below, and would otherwise import who asks them.
"""
