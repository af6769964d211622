"""Time and bytes of training by several ranks."""
