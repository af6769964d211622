"""TensorFlow sources: variables that are looked up become dynamic tables."""
