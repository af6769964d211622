"""Comparison of programs that Keras trains: `fit`, `train_on_batch`, or a loop of their own over a gradient tape."""
