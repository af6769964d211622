"""Proves a converted trainer: both programs go their own way from the batch to the step, with equal weights."""
