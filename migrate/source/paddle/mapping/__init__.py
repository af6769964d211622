"""The mapping of Paddle's functions and layers to TensorFlow's, with their values and shapes."""
