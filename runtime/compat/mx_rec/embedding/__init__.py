"""Rec SDK's tables, and its rules about lookups, around those of the runtime."""
