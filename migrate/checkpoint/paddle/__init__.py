"""Converts the files of Paddle's state dicts to checkpoints of a converted folder, and back; without Paddle."""
