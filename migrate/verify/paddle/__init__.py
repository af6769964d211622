"""Compares a Paddle dygraph model with its converted TensorFlow module, on the same weights and inputs."""
