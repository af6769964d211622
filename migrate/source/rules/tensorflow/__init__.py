"""Rules for TensorFlow sources."""
