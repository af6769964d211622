"""TensorFlow has to be loaded before Paddle: the other way round their copies of zlib collide and the process dies."""

import tensorflow  # noqa: F401
