"""Generates the text of the converted module."""
