"""The trainer beside a Paddle model, followed along its own path: what it does beyond the model and `create_loss`.

PaddleRec's driver calls `create_model`, `create_optimizer` and then, for every batch, `train_forward`. Each is followed
statement by statement; what would change the numbers and has no place in the converted module becomes a problem.
"""
