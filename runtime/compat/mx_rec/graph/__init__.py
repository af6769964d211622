"""Rec SDK's hooks, its pipeline, and the ops of its library."""
