"""Rec SDK's Saver and its files: tables beside TensorFlow's checkpoint, whole or as increments."""
