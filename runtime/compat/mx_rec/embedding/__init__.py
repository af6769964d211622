"""Rec SDK's tables and its rules for lookups, over those of the runtime."""
