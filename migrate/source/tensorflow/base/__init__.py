"""The data model and helpers that all phases of the TensorFlow front end share."""
