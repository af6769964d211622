"""Optimizers of tables, one module each with Rec SDK's `create_hash_optimizer`."""
