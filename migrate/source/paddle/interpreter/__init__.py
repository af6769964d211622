"""Runs `forward` over symbols, without Paddle."""
