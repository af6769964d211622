"""One spec for each function of Paddle: its signature, its result's shape and dtype, and how TensorFlow spells it."""
