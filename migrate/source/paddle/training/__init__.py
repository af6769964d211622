"""Interprets the trainer of a Paddle model, to find what it does besides the model and `create_loss`.

PaddleRec calls `create_model`, `create_optimizer` and then, for each batch, `train_forward`. Each is interpreted, and
code that affects values but cannot be converted is recorded as a problem.
"""
