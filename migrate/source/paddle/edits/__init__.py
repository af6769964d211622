"""The text of the converted module."""
