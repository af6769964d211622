"""Compares converted Paddle models with Paddle over whole directories of models."""
