"""TensorFlow says nothing of what it deprecates, which every graph of version 1 is full of."""

from __future__ import annotations

import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
