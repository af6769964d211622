"""Reads samples and trains what a converted trainer builds."""
