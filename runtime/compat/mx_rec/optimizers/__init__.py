"""Rec SDK's optimizers over those of the runtime."""
