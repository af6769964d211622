"""Rec SDK's Saver and its files: tables beside TensorFlow's checkpoint, complete or as increments."""
